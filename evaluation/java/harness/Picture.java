package ensures.harness;

import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Descriptions of values for the invariant miner: type, size, the value where it is small, public readers one level down. */
final class Picture {
    private static final int MOST = 16;

    private Picture() {}

    static Object all(Object self, Object[] arguments) {
        List<Object> found = new ArrayList<>();
        found.add(of(self, 0));
        for (Object argument : arguments) {
            found.add(of(argument, 0));
        }
        return found;
    }

    static Map<String, Object> of(Object value, int depth) {
        if (value == null) {
            return Json.of("type", "null", "value", null);
        }
        Class<?> type = value.getClass();
        Map<String, Object> found = Json.of("type", type.getTypeName());
        try {
            if (value instanceof Boolean || value instanceof Integer || value instanceof Long || value instanceof Short
                || value instanceof Byte) {
                found.put("value", value instanceof Boolean ? value : (Object) ((Number) value).longValue());
            } else if (value instanceof Double || value instanceof Float) {
                found.put("value", ((Number) value).doubleValue());
            } else if (value instanceof Character) {
                found.put("value", value.toString());
            } else if (value instanceof String) {
                found.put("size", ((String) value).length());
                if (((String) value).length() <= 40) {
                    found.put("value", value);
                }
            } else if (type.isArray()) {
                found.put("kind", "array");
                found.put("size", Array.getLength(value));
                found.put("items", type.getComponentType().getTypeName());
            } else if (value instanceof Collection) {
                found.put("kind", value instanceof List ? "list" : "collection");
                found.put("size", ((Collection<?>) value).size());
            } else if (value instanceof Map) {
                found.put("kind", "map");
                found.put("size", ((Map<?, ?>) value).size());
            } else if (value instanceof CharSequence) {
                found.put("kind", "text");
                found.put("size", ((CharSequence) value).length());
            } else if (value instanceof Enum) {
                found.put("kind", "enum");
                found.put("value", ((Enum<?>) value).name());
            } else if (depth == 0) {
                found.put("attributes", attributes(value));
            }
        } catch (RuntimeException | StackOverflowError unreadable) {
            return found;
        }
        return found;
    }

    private static Map<String, Object> attributes(Object value) {
        TreeMap<String, Method> readers = new TreeMap<>();
        for (Method method : value.getClass().getMethods()) {
            if (reads(method)) {
                readers.put(method.getName(), method);
            }
        }
        TreeMap<String, Object> found = new TreeMap<>();
        for (Method method : readers.values()) {
            try {
                found.put(method.getName() + "()", of(method.invoke(value), 1));
            } catch (ReflectiveOperationException | RuntimeException | StackOverflowError unreadable) {
                continue;
            }
            if (found.size() == MOST) {
                break;
            }
        }
        return found;
    }

    private static boolean reads(Method method) {
        return method.getName().matches("size|length|isEmpty|(get|is|has)[A-Z]\\w*")
            && !method.getName().equals("getClass")
            && method.getParameterCount() == 0
            && method.getReturnType() != void.class
            && !Modifier.isStatic(method.getModifiers())
            && Modifier.isPublic(method.getDeclaringClass().getModifiers());
    }
}
