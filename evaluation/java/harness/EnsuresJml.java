package ensures.harness;

import java.lang.reflect.Array;
import java.util.Map;

/** What woven code calls. Names are short and few: whatever a specification names of this class makes it tampered. */
public final class EnsuresJml {
    private EnsuresJml() {}

    /** A call of the subject begins. Null where it runs bare: inside of a condition, or outside of an execution. */
    public static Call enter() {
        Recorder recorder = Recorder.current;
        return recorder == null ? null : recorder.enter();
    }

    /** Which of the woven bodies is the subject's. */
    public static int body() {
        Recorder recorder = Recorder.current;
        return recorder == null ? 0 : recorder.body;
    }

    /** A candidate's clauses over the result (boxed; null of a void method): the first that is false, or -1. */
    public interface Check {
        int at(Object result) throws Throwable;
    }

    // Quantifiers: over whole numbers from..to, both inclusive, with short circuit

    public interface Test {
        boolean at(long value) throws Throwable;
    }

    public interface IntTerm {
        int at(long value) throws Throwable;
    }

    public interface LongTerm {
        long at(long value) throws Throwable;
    }

    public interface FloatTerm {
        float at(long value) throws Throwable;
    }

    public interface DoubleTerm {
        double at(long value) throws Throwable;
    }

    public static long from(long bound, boolean strict) {
        return strict && bound < Long.MAX_VALUE ? bound + 1 : bound;
    }

    public static long from(double bound, boolean strict) {
        return (long) (strict ? Math.floor(bound) + 1 : Math.ceil(bound));
    }

    public static long to(long bound, boolean strict) {
        return strict && bound > Long.MIN_VALUE ? bound - 1 : bound;
    }

    public static long to(double bound, boolean strict) {
        return (long) (strict ? Math.ceil(bound) - 1 : Math.floor(bound));
    }

    public static boolean forall(long from, long to, Test test) {
        return !exists(from, to, value -> !test.at(value));
    }

    public static boolean exists(long from, long to, Test test) {
        try {
            for (long value = from; value <= to; value++) {
                if (test.at(value)) {
                    return true;
                }
                if (value == Long.MAX_VALUE) {
                    break;
                }
            }
            return false;
        } catch (Throwable thrown) {
            throw EnsuresJml.<RuntimeException>as(thrown);
        }
    }

    public static long count(long from, long to, Test test) {
        long[] found = {0};
        exists(from, to, value -> {
            found[0] += test.at(value) ? 1 : 0;
            return false;
        });
        return found[0];
    }

    public static int sum(long from, long to, Test range, IntTerm term) {
        int[] found = {0};
        each(from, to, range, value -> found[0] += term.at(value));
        return found[0];
    }

    public static long sum(long from, long to, Test range, LongTerm term) {
        long[] found = {0};
        each(from, to, range, value -> found[0] += term.at(value));
        return found[0];
    }

    public static float sum(long from, long to, Test range, FloatTerm term) {
        float[] found = {0};
        each(from, to, range, value -> found[0] += term.at(value));
        return found[0];
    }

    public static double sum(long from, long to, Test range, DoubleTerm term) {
        double[] found = {0};
        each(from, to, range, value -> found[0] += term.at(value));
        return found[0];
    }

    public static int product(long from, long to, Test range, IntTerm term) {
        int[] found = {1};
        each(from, to, range, value -> found[0] *= term.at(value));
        return found[0];
    }

    public static long product(long from, long to, Test range, LongTerm term) {
        long[] found = {1};
        each(from, to, range, value -> found[0] *= term.at(value));
        return found[0];
    }

    public static float product(long from, long to, Test range, FloatTerm term) {
        float[] found = {1};
        each(from, to, range, value -> found[0] *= term.at(value));
        return found[0];
    }

    public static double product(long from, long to, Test range, DoubleTerm term) {
        double[] found = {1};
        each(from, to, range, value -> found[0] *= term.at(value));
        return found[0];
    }

    public static int min(long from, long to, Test range, IntTerm term) {
        int[] found = {Integer.MAX_VALUE};
        each(from, to, range, value -> found[0] = Math.min(found[0], term.at(value)));
        return found[0];
    }

    public static long min(long from, long to, Test range, LongTerm term) {
        long[] found = {Long.MAX_VALUE};
        each(from, to, range, value -> found[0] = Math.min(found[0], term.at(value)));
        return found[0];
    }

    public static float min(long from, long to, Test range, FloatTerm term) {
        float[] found = {Float.POSITIVE_INFINITY};
        each(from, to, range, value -> found[0] = Math.min(found[0], term.at(value)));
        return found[0];
    }

    public static double min(long from, long to, Test range, DoubleTerm term) {
        double[] found = {Double.POSITIVE_INFINITY};
        each(from, to, range, value -> found[0] = Math.min(found[0], term.at(value)));
        return found[0];
    }

    public static int max(long from, long to, Test range, IntTerm term) {
        int[] found = {Integer.MIN_VALUE};
        each(from, to, range, value -> found[0] = Math.max(found[0], term.at(value)));
        return found[0];
    }

    public static long max(long from, long to, Test range, LongTerm term) {
        long[] found = {Long.MIN_VALUE};
        each(from, to, range, value -> found[0] = Math.max(found[0], term.at(value)));
        return found[0];
    }

    public static float max(long from, long to, Test range, FloatTerm term) {
        float[] found = {Float.NEGATIVE_INFINITY};
        each(from, to, range, value -> found[0] = Math.max(found[0], term.at(value)));
        return found[0];
    }

    public static double max(long from, long to, Test range, DoubleTerm term) {
        double[] found = {Double.NEGATIVE_INFINITY};
        each(from, to, range, value -> found[0] = Math.max(found[0], term.at(value)));
        return found[0];
    }

    private interface Step {
        void at(long value) throws Throwable;
    }

    private static void each(long from, long to, Test range, Step step) {
        exists(from, to, value -> {
            if (range.at(value)) {
                step.at(value);
            }
            return false;
        });
    }

    // Other functions of JML

    public static Class<?> typeOf(Object value) {
        return value.getClass();
    }

    public static Class<?> typeOf(boolean value) {
        return boolean.class;
    }

    public static Class<?> typeOf(byte value) {
        return byte.class;
    }

    public static Class<?> typeOf(short value) {
        return short.class;
    }

    public static Class<?> typeOf(char value) {
        return char.class;
    }

    public static Class<?> typeOf(int value) {
        return int.class;
    }

    public static Class<?> typeOf(long value) {
        return long.class;
    }

    public static Class<?> typeOf(float value) {
        return float.class;
    }

    public static Class<?> typeOf(double value) {
        return double.class;
    }

    /** Not null, and no element of it null (keys and values of a map). */
    public static boolean nonNullElements(Object given) {
        if (given == null) {
            return false;
        }
        if (given instanceof Map) {
            Map<?, ?> map = (Map<?, ?>) given;
            return nonNullElements(map.keySet()) && nonNullElements(map.values());
        }
        if (given instanceof Iterable) {
            for (Object item : (Iterable<?>) given) {
                if (item == null) {
                    return false;
                }
            }
            return true;
        }
        for (int i = 0; i < Array.getLength(given); i++) {
            if (Array.get(given, i) == null) {
                return false;
            }
        }
        return true;
    }

    // What a constructor saves of the state before: a value of its own type. There, a variable can't be declared in a try.

    public interface BooleanSaved {
        boolean get() throws Throwable;
    }

    public static boolean saved(Call call, int candidate, BooleanSaved saved) {
        Object found = saved(call, candidate, (Saved<Object>) saved::get);
        return found == null ? false : (boolean) found;
    }

    public interface IntSaved {
        int get() throws Throwable;
    }

    public static int saved(Call call, int candidate, IntSaved saved) {
        Object found = saved(call, candidate, (Saved<Object>) saved::get);
        return found == null ? 0 : (int) found;
    }

    public interface LongSaved {
        long get() throws Throwable;
    }

    public static long saved(Call call, int candidate, LongSaved saved) {
        Object found = saved(call, candidate, (Saved<Object>) saved::get);
        return found == null ? 0 : (long) found;
    }

    public interface DoubleSaved {
        double get() throws Throwable;
    }

    public static double saved(Call call, int candidate, DoubleSaved saved) {
        Object found = saved(call, candidate, (Saved<Object>) saved::get);
        return found == null ? 0 : (double) found;
    }

    public interface Saved<T> {
        T get() throws Throwable;
    }

    public static <T> T saved(Call call, int candidate, Saved<T> saved) {
        if (call == null || !call.begins(candidate)) {
            return null;
        }
        try {
            return saved.get();
        } catch (Throwable thrown) {
            call.unsaved(candidate, thrown);
            return null;
        } finally {
            call.done(candidate);
        }
    }

    @SuppressWarnings("unchecked")
    static <E extends Throwable> E as(Throwable thrown) throws E {
        throw (E) thrown;
    }
}
