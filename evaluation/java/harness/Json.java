package ensures.harness;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON, as much as the messages need: objects, lists, strings, longs, doubles, booleans, null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) {
        return (Map<String, Object>) new Json(text).value();
    }

    private Object value() {
        blank();
        char c = text.charAt(at);
        switch (c) {
            case '{': return map();
            case '[': return list();
            case '"': return string();
            case 't': at += 4; return true;
            case 'f': at += 5; return false;
            case 'n': at += 4; return null;
            default: return number();
        }
    }

    private Map<String, Object> map() {
        Map<String, Object> found = new LinkedHashMap<>();
        at++;
        for (blank(); text.charAt(at) != '}'; blank()) {
            if (text.charAt(at) == ',') {
                at++;
                blank();
            }
            String key = string();
            blank();
            at++;
            found.put(key, value());
        }
        at++;
        return found;
    }

    private List<Object> list() {
        List<Object> found = new ArrayList<>();
        at++;
        for (blank(); text.charAt(at) != ']'; blank()) {
            if (text.charAt(at) == ',') {
                at++;
            }
            found.add(value());
        }
        at++;
        return found;
    }

    private Object number() {
        int start = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(start, at);
        boolean whole = digits.chars().allMatch(c -> c == '-' || Character.isDigit(c));
        return whole ? (Object) Long.valueOf(digits) : (Object) Double.valueOf(digits);
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c != '\\') {
                found.append(c);
                continue;
            }
            c = text.charAt(++at);
            switch (c) {
                case 'n': found.append('\n'); break;
                case 't': found.append('\t'); break;
                case 'r': found.append('\r'); break;
                case 'b': found.append('\b'); break;
                case 'f': found.append('\f'); break;
                case 'u':
                    found.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                    break;
                default: found.append(c);
            }
        }
        at++;
        return found.toString();
    }

    private void blank() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map) {
            String between = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                out.append(between);
                quote(entry.getKey().toString(), out);
                out.append(':');
                write(entry.getValue(), out);
                between = ",";
            }
            out.append(between.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable) {
            String between = "[";
            for (Object item : (Iterable<?>) value) {
                out.append(between);
                write(item, out);
                between = ",";
            }
            out.append(between.equals("[") ? "[]" : "]");
        } else if (value instanceof int[]) {
            String between = "[";
            for (int item : (int[]) value) {
                out.append(between).append(item);
                between = ",";
            }
            out.append(between.equals("[") ? "[]" : "]");
        } else if (value == null || value instanceof Boolean || value instanceof Long || value instanceof Integer) {
            out.append(value);
        } else if (value instanceof Double) {
            double number = (Double) value;
            out.append(Double.isFinite(number) ? Double.toString(number) : "\"" + number + "\"");
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 32 || c > 126) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    /** {key: value, ...} in the order given. */
    static Map<String, Object> of(Object... pairs) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            found.put((String) pairs[i], pairs[i + 1]);
        }
        return found;
    }
}
