package ensures.harness;

import java.nio.MappedByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.zip.CRC32;

/** What one execution sees. Calls come from any thread; what they say is put down one at a time. */
final class Recorder {
    static volatile Recorder current;

    /** Thrown where a violation is really raised. */
    static final class JmlAssertionError extends Error {
        private static final long serialVersionUID = 1L;

        JmlAssertionError(String message) {
            super(message);
        }
    }

    /** Thrown where nothing is left to be decided: ends tests quickly. */
    static final class Decided extends Error {
        private static final long serialVersionUID = 1L;

        Decided() {
            super("all candidates are decided", null, false, false);
        }
    }

    static final class View {
        final String part;
        final String salt;
        int evaluated;
        boolean violated;
        boolean raised;
        boolean suspended;
        Object surfaced = false;

        View(String part, String salt) {
            this.part = part;
            this.salt = salt;
        }

        boolean wants(String test, int number) {
            if (part.equals("all")) {
                return true;
            }
            CRC32 crc = new CRC32();
            crc.update((salt + ":" + test + ":" + number).getBytes(StandardCharsets.UTF_8));
            return (crc.getValue() & 1) == (part.equals("seen") ? 1 : 0);
        }
    }

    final int body;
    final int size;
    final int[] wanted; // positions in the compiled unit
    private final View[][] views; // by position in the unit
    private final int[] place; // position in the unit -> in the request
    private final long[] spent;
    private final boolean raising;
    private final boolean everyCall;
    private final boolean perturbing;
    private final boolean[] noticing;
    private final boolean whole;
    private final String looking; // "", "iterators", "observe" or "fingerprints"
    private final Consumer<Map<String, Object>> report;
    private final MappedByteBuffer meter;
    private final ThreadLocal<int[]> conditions = ThreadLocal.withInitial(() -> new int[1]);

    private final Map<String, Integer> numbers = new HashMap<>();
    private final Map<String, List<Object>> fingerprints = new HashMap<>();
    private String test = "";
    int calls;
    int bodyRaised;
    boolean iterators;
    private int undecided;
    volatile boolean decided;
    Handlers handlers;

    Recorder(Map<String, Object> command, int size, Consumer<Map<String, Object>> report, MappedByteBuffer meter) {
        this.body = ((Long) command.get("body")).intValue();
        this.size = size;
        this.report = report;
        this.meter = meter;
        this.raising = Boolean.TRUE.equals(command.get("raising"));
        this.everyCall = Boolean.TRUE.equals(command.get("every_call"));
        this.perturbing = Boolean.TRUE.equals(command.get("perturb"));
        this.whole = Boolean.TRUE.equals(command.get("whole"));
        this.looking = command.get("look") == null ? "" : (String) command.get("look");
        List<?> candidates = command.get("candidates") == null ? List.of() : (List<?>) command.get("candidates");
        this.wanted = new int[candidates.size()];
        this.views = new View[size][];
        this.place = new int[size];
        this.spent = new long[candidates.size()];
        this.noticing = new boolean[candidates.size()];
        for (int i = 0; i < wanted.length; i++) {
            Map<?, ?> candidate = (Map<?, ?>) candidates.get(i);
            int index = ((Long) candidate.get("index")).intValue();
            wanted[i] = index;
            place[index] = i;
            List<View> own = new ArrayList<>();
            for (Object view : (List<?>) candidate.get("views")) {
                List<?> parts = (List<?>) view;
                own.add(new View((String) parts.get(0), (String) parts.get(1)));
                undecided++;
            }
            views[index] = own.toArray(new View[0]);
        }
    }

    // Tests

    synchronized void begins(String name) {
        test = name;
        for (int candidate : wanted) {
            for (View view : views[candidate]) {
                view.suspended = false;
            }
        }
    }

    synchronized int callsOf(String name) {
        return numbers.getOrDefault(name, 0);
    }

    // Calls

    Call enter() {
        if (conditions.get()[0] > 0) {
            return null;
        }
        if (decided) {
            throw new Decided();
        }
        synchronized (this) {
            calls++;
            int number = numbers.merge(test, 1, Integer::sum) - 1;
            return new Call(this, test, number);
        }
    }

    boolean wants(Call call, int candidate) {
        View[] own = views[candidate];
        if (own == null) {
            return false;
        }
        if (everyCall) {
            return true;
        }
        synchronized (this) {
            for (View view : own) {
                if (!view.violated && !view.suspended && view.wants(call.test, call.number)) {
                    return true;
                }
            }
            return false;
        }
    }

    private long since;

    void enterCondition(int candidate) {
        conditions.get()[0]++;
        since = System.nanoTime();
        meter.putLong(8, since);
        meter.putLong(0, place[candidate] + 1);
    }

    void leaveCondition() {
        int candidate = (int) meter.getLong(0) - 1;
        meter.putLong(0, 0);
        if (candidate >= 0) {
            spent[candidate] += System.nanoTime() - since;
        }
        conditions.get()[0]--;
    }

    boolean looks() {
        return !looking.isEmpty();
    }

    void sees(Call call, Object self, Object[] arguments) {
        if (looking.equals("iterators")) {
            return;
        }
        bare(() -> call.before = looking.equals("observe") ? Picture.all(self, arguments) : Fingerprint.of(self, arguments));
    }

    void saw(Call call, Object self, Object result, Object[] arguments) {
        bare(() -> {
            if (looking.equals("observe")) {
                Map<String, Object> event = Json.of("e", "seen", "test", call.test, "n", call.number, "pre", call.before);
                event.put("post", Picture.all(self, arguments));
                event.put("result", Picture.of(result, 0));
                List<Object> same = new ArrayList<>();
                for (int i = 0; i < arguments.length; i++) {
                    if (arguments[i] == result && result != null) {
                        same.add(i);
                    }
                }
                event.put("same", same);
                say(event);
            } else if (looking.equals("fingerprints")) {
                fingerprint(call, Fingerprint.of(result, self, arguments));
            }
        });
        if (passesBy(self) || passesBy(result)) {
            iterators = true;
        }
        for (Object argument : arguments) {
            iterators |= passesBy(argument);
        }
    }

    private static boolean passesBy(Object value) {
        return value instanceof java.util.Iterator || value instanceof java.util.stream.BaseStream
            || value instanceof java.io.Closeable;
    }

    private void bare(Runnable look) {
        conditions.get()[0]++;
        try {
            look.run();
        } finally {
            conditions.get()[0]--;
        }
    }

    private synchronized void fingerprint(Call call, Object after) {
        fingerprints.computeIfAbsent(call.test, name -> new ArrayList<>())
            .add(java.util.Arrays.asList(call.test, call.before, after));
    }

    synchronized void threw(Call call) {
        bodyRaised++;
        if (looking.equals("fingerprints")) {
            fingerprint(call, "raised");
        }
        if (everyCall) {
            say(Json.of("e", "call", "test", call.test, "n", call.number, "truths", null));
        }
    }

    void evaluated(Call call, int candidate, int clause) {
        synchronized (this) {
            truth(call, candidate, clause < 0 ? '1' : '0');
            for (int v = 0; v < views[candidate].length; v++) {
                View view = views[candidate][v];
                if (view.violated || view.suspended || !view.wants(call.test, call.number)) {
                    continue;
                }
                view.evaluated++;
                if (clause < 0) {
                    continue;
                }
                view.violated = true;
                view.surfaced = raising ? (Object) false : handlers.surfaces();
                say(Json.of("e", "violated", "c", place[candidate], "v", v, "clause", clause, "message", ""));
                if (--undecided == 0 && !whole && !raising) {
                    decided = true;
                }
            }
        }
        if (clause >= 0 && raising) {
            throw new JmlAssertionError("JML postcondition is false");
        }
    }

    void raised(Call call, int candidate, int clause, Throwable thrown) {
        String message;
        try {
            message = String.valueOf(thrown);
        } catch (Throwable worse) {
            message = thrown.getClass().getName();
        }
        synchronized (this) {
            truth(call, candidate, 'x');
            for (int v = 0; v < views[candidate].length; v++) {
                View view = views[candidate][v];
                if (view.violated || view.suspended || !view.wants(call.test, call.number)) {
                    continue;
                }
                view.evaluated++;
                view.suspended = true;
                if (!view.raised) {
                    view.raised = true;
                    String said = message.length() > 300 ? message.substring(0, 300) : message;
                    Object where = clause < 0 ? null : clause;
                    say(Json.of("e", "raised", "c", place[candidate], "v", v, "clause", where, "message", said));
                }
            }
        }
        if (raising) {
            throw EnsuresJml.<RuntimeException>as(thrown);
        }
    }

    /** A call outside of the candidate's precondition. */
    void outside(Call call, int candidate) {
        synchronized (this) {
            truth(call, candidate, '1');
        }
    }

    private void truth(Call call, int candidate, char letter) {
        if (everyCall) {
            if (call.truths == null) {
                call.truths = new char[wanted.length];
                java.util.Arrays.fill(call.truths, '1');
            }
            call.truths[place[candidate]] = letter;
        }
    }

    synchronized void returned(Call call) {
        if (everyCall) {
            String truths = call.truths == null ? "" : new String(call.truths);
            say(Json.of("e", "call", "test", call.test, "n", call.number, "truths", truths));
        }
    }

    /** Does the candidate, which holds here, take notice of other results in place of the real one? */
    void perturbs(int candidate, EnsuresJml.Check check, Object result) {
        if (!perturbing || noticing[place[candidate]]) {
            return;
        }
        for (Object other : Others.of(result)) {
            try {
                noticing[place[candidate]] |= check.at(other) >= 0;
            } catch (Throwable thrown) {
                noticing[place[candidate]] = true;
            }
        }
    }

    private void say(Map<String, Object> event) {
        report.accept(event);
    }

    // The end

    Map<String, Object> summary() {
        List<Object> evaluated = new ArrayList<>();
        List<Object> surfaced = new ArrayList<>();
        List<Object> times = new ArrayList<>();
        for (int candidate : wanted) {
            List<Object> ofViews = new ArrayList<>();
            List<Object> reached = new ArrayList<>();
            for (View view : views[candidate]) {
                ofViews.add(view.evaluated);
                reached.add(view.surfaced);
            }
            evaluated.add(ofViews);
            surfaced.add(reached);
        }
        for (long nanos : spent) {
            times.add(nanos);
        }
        Map<String, Object> found = Json.of("calls", calls, "body_raised", bodyRaised, "iterators", iterators);
        found.put("evaluated", evaluated);
        found.put("surfaced", surfaced);
        found.put("spent", times);
        List<Object> noticed = new ArrayList<>();
        for (boolean one : noticing) {
            noticed.add(one);
        }
        found.put("noticed", noticed);
        if (looking.equals("fingerprints")) {
            List<Object> all = new ArrayList<>();
            fingerprints.values().forEach(all::addAll);
            report.accept(Json.of("e", "fingerprints", "calls", all));
        }
        return found;
    }
}
