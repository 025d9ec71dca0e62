package ensures.harness;

import java.util.ArrayList;
import java.util.List;

/** Other results in place of the real one, of its own type, near to it and far: would a candidate notice? */
final class Others {
    private Others() {}

    static List<Object> of(Object value) {
        List<Object> found = new ArrayList<>();
        if (value instanceof Boolean) {
            found.add(!(Boolean) value);
        } else if (value instanceof Integer) {
            found.add((Integer) value + 1);
            found.add(-(Integer) value - 1);
        } else if (value instanceof Long) {
            found.add((Long) value + 1);
            found.add(-(Long) value - 1);
        } else if (value instanceof Short) {
            found.add((short) ((Short) value + 1));
        } else if (value instanceof Byte) {
            found.add((byte) ((Byte) value + 1));
        } else if (value instanceof Character) {
            found.add((char) ((Character) value + 1));
        } else if (value instanceof Double) {
            found.add((Double) value + 1);
            found.add(-(Double) value - 1);
        } else if (value instanceof Float) {
            found.add((Float) value + 1);
        } else if (value instanceof String) {
            found.add(value + "x");
            found.add(((String) value).isEmpty() ? "y" : "");
        } else if (value != null) {
            found.add(null);
        }
        return found;
    }
}
