package ensures.harness;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32;

/**
 * A digest of the state that a specification could see: values by structure, objects by their fields. Null where something
 * can't be looked into, so that nothing may be concluded from it.
 */
final class Fingerprint {
    private static final int DEEPEST = 12;
    private static final int LONGEST = 200_000;

    private static final class Opaque extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Opaque() {
            super(null, null, false, false);
        }
    }

    private final StringBuilder out = new StringBuilder();
    private final IdentityHashMap<Object, Integer> seen = new IdentityHashMap<>();

    private Fingerprint() {}

    static String of(Object first, Object[] others) {
        return of(null, first, others);
    }

    static String of(Object result, Object first, Object[] others) {
        Fingerprint made = new Fingerprint();
        try {
            made.add(result, 0);
            made.add(first, 0);
            for (Object other : others) {
                made.add(other, 0);
            }
        } catch (Opaque | StackOverflowError unknown) {
            return null;
        }
        CRC32 crc = new CRC32();
        crc.update(made.out.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8));
        return Long.toHexString(crc.getValue()) + ":" + Integer.toHexString(made.out.toString().hashCode());
    }

    private void add(Object value, int depth) {
        if (out.length() > LONGEST || depth > DEEPEST) {
            throw new Opaque();
        }
        if (value == null) {
            out.append("null;");
            return;
        }
        Class<?> type = value.getClass();
        if (value instanceof Number || value instanceof Boolean || value instanceof Character || value instanceof CharSequence
            || value instanceof java.time.temporal.TemporalAccessor || value instanceof java.util.Date
            || value instanceof java.util.Locale || value instanceof java.util.UUID) {
            out.append(type.getName()).append('=').append(value).append(';');
            return;
        }
        if (value instanceof Enum || value instanceof Class) {
            out.append(type.getName()).append('=').append(value instanceof Enum ? ((Enum<?>) value).name() : value).append(';');
            return;
        }
        Integer number = seen.putIfAbsent(value, seen.size());
        if (number != null) {
            out.append('#').append(number).append(';');
            return;
        }
        out.append(type.getName()).append('{');
        if (type.isArray()) {
            for (int i = 0; i < Array.getLength(value); i++) {
                add(Array.get(value, i), depth + 1);
            }
        } else if (jdk(type) && value instanceof Map) {
            ((Map<?, ?>) value).forEach((key, item) -> {
                add(key, depth + 1);
                add(item, depth + 1);
            });
        } else if (jdk(type) && value instanceof Collection) {
            ordered((Collection<?>) value).forEach(item -> add(item, depth + 1));
        } else if (value instanceof java.util.Optional) {
            add(((java.util.Optional<?>) value).orElse(null), depth + 1);
        } else if (jdk(type)) {
            if (value.getClass() != Object.class) {
                throw new Opaque();
            }
        } else {
            fields(value, type, depth);
        }
        out.append('}');
    }

    /** A set of plain values is written in one order, so that its hash order says nothing. */
    private static Collection<?> ordered(Collection<?> values) {
        if (!(values instanceof Set) || values instanceof java.util.SortedSet) {
            return values;
        }
        List<Object> sorted = new ArrayList<>(values);
        try {
            sorted.sort(null);
        } catch (RuntimeException unsortable) {
            return values;
        }
        return sorted;
    }

    private void fields(Object value, Class<?> type, int depth) {
        for (Class<?> each = type; each != null && each != Object.class; each = each.getSuperclass()) {
            if (jdk(each)) {
                throw new Opaque();
            }
            for (Field field : each.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) {
                    continue;
                }
                try {
                    field.setAccessible(true);
                    out.append(field.getName()).append('=');
                    add(field.get(value), depth + 1);
                } catch (IllegalAccessException | RuntimeException closed) {
                    throw closed instanceof Opaque ? (Opaque) closed : new Opaque();
                }
            }
        }
    }

    private static boolean jdk(Class<?> type) {
        return type.getClassLoader() == null || type.getName().startsWith("java.");
    }
}
