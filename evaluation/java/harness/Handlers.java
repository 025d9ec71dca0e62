package ensures.harness;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.StackWalker.StackFrame;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Would an error that left the subject now reach the test's report? Walks the stack up to JUnit and looks into the exception
 * tables of the methods on it: where a handler might take an Error, only really raising it can tell.
 */
final class Handlers {
    static final String UNKNOWN = "unknown";
    private static final StackWalker WALKER = StackWalker.getInstance(
        java.util.Set.of(StackWalker.Option.RETAIN_CLASS_REFERENCE, StackWalker.Option.SHOW_REFLECT_FRAMES));
    private static final List<String> ASSERTING = List.of("assertThrows", "assertThrowsExactly", "assertDoesNotThrow",
        "assertTimeout", "assertTimeoutPreemptively", "assertAll");

    private final Map<Class<?>, Map<String, List<int[]>>> known = new HashMap<>();

    /** True, or UNKNOWN. */
    Object surfaces() {
        return WALKER.walk(frames -> {
            String subject = null;
            boolean reflected = false;
            for (StackFrame frame : (Iterable<StackFrame>) frames::iterator) {
                String type = frame.getClassName();
                if (type.startsWith("ensures.harness.")) {
                    continue;
                }
                if (type.startsWith("org.junit.") || type.startsWith("junit.")) {
                    return ASSERTING.contains(frame.getMethodName()) ? (Object) UNKNOWN : (Object) true;
                }
                if (type.startsWith("java.lang.reflect.") || type.startsWith("jdk.internal.reflect.")) {
                    reflected = true;
                    continue;
                }
                if (reflected) {
                    return UNKNOWN; // called by reflection from something else than JUnit
                }
                String method = type + "." + frame.getMethodName() + frame.getDescriptor();
                if (subject == null) {
                    subject = method; // the woven method itself, which passes everything on
                } else if (!method.equals(subject) && takesErrors(frame)) {
                    return UNKNOWN;
                }
            }
            return UNKNOWN;
        });
    }

    private boolean takesErrors(StackFrame frame) {
        Map<String, List<int[]>> handlers = known.computeIfAbsent(frame.getDeclaringClass(), Handlers::read);
        if (handlers == null) {
            return true;
        }
        for (int[] range : handlers.getOrDefault(frame.getMethodName() + frame.getDescriptor(), List.of())) {
            if (range[0] <= frame.getByteCodeIndex() && frame.getByteCodeIndex() < range[1]) {
                return true;
            }
        }
        return false;
    }

    /** Method -> the ranges [from, to) of its code over which an Error might be caught. */
    private static Map<String, List<int[]>> read(Class<?> type) {
        String path = type.getName().replace('.', '/') + ".class";
        ClassLoader loader = type.getClassLoader();
        try (InputStream stream = loader == null ? ClassLoader.getSystemResourceAsStream(path) : loader.getResourceAsStream(path)) {
            return stream == null ? null : parse(new DataInputStream(stream));
        } catch (IOException | RuntimeException unreadable) {
            return null;
        }
    }

    private static Map<String, List<int[]>> parse(DataInputStream in) throws IOException {
        in.readInt();
        in.readInt();
        Object[] constants = new Object[in.readUnsignedShort()];
        for (int i = 1; i < constants.length; i++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1: constants[i] = in.readUTF(); break;
                case 7: constants[i] = in.readUnsignedShort(); break;
                case 8: case 16: case 19: case 20: in.readUnsignedShort(); break;
                case 15: in.readByte(); in.readUnsignedShort(); break;
                case 5: case 6: in.readLong(); i++; break;
                default: in.readInt();
            }
        }
        in.readUnsignedShort();
        in.readUnsignedShort();
        in.readUnsignedShort();
        in.skipBytes(2 * in.readUnsignedShort());
        skipMembers(in); // fields
        Map<String, List<int[]>> found = new HashMap<>();
        for (int methods = in.readUnsignedShort(); methods > 0; methods--) {
            in.readUnsignedShort();
            String name = (String) constants[in.readUnsignedShort()] + constants[in.readUnsignedShort()];
            for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
                String attribute = (String) constants[in.readUnsignedShort()];
                int length = in.readInt();
                if (!attribute.equals("Code")) {
                    in.skipNBytes(length);
                    continue;
                }
                in.readInt();
                in.skipNBytes(in.readInt());
                List<int[]> ranges = new ArrayList<>();
                for (int entries = in.readUnsignedShort(); entries > 0; entries--) {
                    int from = in.readUnsignedShort();
                    int to = in.readUnsignedShort();
                    in.readUnsignedShort();
                    int type = in.readUnsignedShort();
                    String caught = type == 0 ? "" : (String) constants[(Integer) constants[type]];
                    if (List.of("", "java/lang/Throwable", "java/lang/Error").contains(caught)) {
                        ranges.add(new int[] {from, to});
                    }
                }
                found.put(name, ranges);
                skipAttributes(in);
            }
        }
        return found;
    }

    private static void skipMembers(DataInputStream in) throws IOException {
        for (int members = in.readUnsignedShort(); members > 0; members--) {
            in.skipNBytes(6);
            skipAttributes(in);
        }
    }

    private static void skipAttributes(DataInputStream in) throws IOException {
        for (int attributes = in.readUnsignedShort(); attributes > 0; attributes--) {
            in.readUnsignedShort();
            in.skipNBytes(in.readInt());
        }
    }
}
