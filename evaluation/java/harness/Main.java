package ensures.harness;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TimeZone;

/** The warm JVM: compiles woven sources, runs tests on them, and reports over the stream that it was started with. */
public final class Main {
    private static final class Unit {
        final Map<String, byte[]> classes;
        final int candidates;

        Unit(Map<String, byte[]> classes, int candidates) {
            this.classes = classes;
            this.candidates = candidates;
        }
    }

    private final DataInputStream requests;
    private final DataOutputStream reports;
    private final Compiler compiler;
    private final List<Path> folders;
    private final ClassLoader dependencies;
    private final MappedByteBuffer meter;
    private final Map<String, Unit> units = new HashMap<>();

    private Main(DataInputStream requests, DataOutputStream reports) throws IOException {
        this.requests = requests;
        this.reports = reports;
        Map<String, Object> config = receive();
        this.folders = new ArrayList<>();
        List<File> path = new ArrayList<>();
        List<URL> urls = new ArrayList<>();
        for (Object folder : (List<?>) config.get("classes")) {
            folders.add(Path.of((String) folder));
            path.add(new File((String) folder));
        }
        for (String jar : System.getProperty("java.class.path").split(File.pathSeparator)) {
            path.add(new File(jar));
        }
        for (Object jar : (List<?>) config.get("jars")) {
            path.add(new File((String) jar));
            urls.add(new File((String) jar).toURI().toURL());
        }
        this.dependencies = new URLClassLoader(urls.toArray(new URL[0]), Main.class.getClassLoader());
        List<String> options = new ArrayList<>();
        for (Object option : (List<?>) config.get("arguments")) {
            options.add((String) option);
        }
        this.compiler = new Compiler(path, options);
        try (FileChannel channel = FileChannel.open(Path.of((String) config.get("meter")),
                StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            this.meter = channel.map(FileChannel.MapMode.READ_WRITE, 0, 16);
            meter.order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    public static void main(String[] arguments) throws IOException {
        DataInputStream requests = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in)));
        DataOutputStream reports = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
        System.setOut(nowhere);
        Main main = new Main(requests, reports);
        try {
            Recorder nobody = new Recorder(Json.of("body", 0L), 0, event -> {}, null);
            new Tests(nobody).run(List.of("ensures.harness.Warm#five", "ensures.harness.Warm#four"), Main.class.getClassLoader());
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
        main.send(Json.of("e", "ready"));
        try {
            main.serve();
        } catch (EOFException over) {
            System.exit(0);
        }
    }

    private void serve() throws IOException {
        while (true) {
            Map<String, Object> command = receive();
            Map<String, Object> answer = command.get("do").equals("compile") ? compile(command) : execute(command);
            answer.put("nonce", command.get("nonce"));
            send(answer);
        }
    }

    private Map<String, Object> receive() throws IOException {
        byte[] body = new byte[requests.readInt()];
        requests.readFully(body);
        return Json.object(new String(body, StandardCharsets.UTF_8));
    }

    private void send(Map<String, Object> message) {
        byte[] body = Json.write(message).getBytes(StandardCharsets.US_ASCII);
        synchronized (reports) {
            try {
                byte[] whole = new byte[body.length + 4];
                for (int i = 0; i < 4; i++) {
                    whole[i] = (byte) (body.length >> (24 - 8 * i));
                }
                System.arraycopy(body, 0, whole, 4, body.length);
                reports.write(whole);
                reports.flush();
            } catch (IOException gone) {
                Runtime.getRuntime().halt(1);
            }
        }
    }

    private Map<String, Object> compile(Map<String, Object> command) {
        List<Object> problems = new ArrayList<>();
        Map<String, byte[]> classes = compiler.compile((String) command.get("file"), (String) command.get("text"), problems);
        if (problems.isEmpty()) {
            units.put((String) command.get("unit"), new Unit(classes, ((Long) command.get("size")).intValue()));
        }
        return Json.of("e", "end", "problems", problems);
    }

    private Map<String, Object> execute(Map<String, Object> command) {
        Unit unit = units.get(command.get("unit"));
        if (unit == null) {
            return Json.of("e", "end", "unknown", true);
        }
        List<String> wanted = new ArrayList<>();
        for (Object test : (List<?>) command.get("tests")) {
            wanted.add((String) test);
        }
        State before = State.now();
        SubjectLoader loader = new SubjectLoader(folders, unit.classes, dependencies);
        Recorder recorder = new Recorder(command, unit.candidates, this::send, meter);
        recorder.handlers = new Handlers();
        Tests tests = new Tests(recorder);
        Map<String, Object> end = Json.of("e", "end");
        Thread thread = new Thread(() -> {
            try {
                Map<String, Tests.Result> found = tests.run(wanted, loader);
                List<Object> failed = new ArrayList<>();
                List<Object> missing = new ArrayList<>();
                List<Object> said = new ArrayList<>();
                List<Object> marks = new ArrayList<>();
                for (String name : wanted) {
                    Tests.Result result = found.get(name);
                    char outcome = result == null || result.outcome == 0 ? 'f' : result.outcome;
                    if (result == null) {
                        missing.add(name);
                    }
                    if (outcome == 'f') {
                        failed.add(name);
                        if (result != null && said.size() < 3) {
                            said.add(name + ": " + (result.said.length() > 200 ? result.said.substring(0, 200) : result.said));
                        }
                    }
                    List<Object> mark = new ArrayList<>();
                    mark.add(String.valueOf(outcome));
                    mark.add(result == null ? 0 : result.calls);
                    mark.add(result == null ? 0L : result.output);
                    marks.add(mark);
                }
                send(Json.of("e", "trace", "marks", marks));
                end.put("failed", failed);
                end.put("missing", missing);
                end.put("said", said);
            } catch (ReflectiveOperationException | RuntimeException | Error broken) {
                end.put("broken", String.valueOf(broken));
            }
        }, "tests");
        thread.setContextClassLoader(loader);
        Recorder.current = recorder;
        thread.start();
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException ofTheirs) {
                continue;
            }
        }
        Recorder.current = null;
        if (tests.surfaced) {
            send(Json.of("e", "surfaced"));
        }
        if (recorder.decided) {
            send(Json.of("e", "stopped"));
            end.put("failed", List.of()); // what failed after all was decided says nothing
        }
        end.putAll(recorder.summary());
        end.put("memory", tests.memory);
        end.put("dirty", before.restore());
        return end;
    }

    /** What an execution must leave as it found it. */
    private static final class State {
        private final Properties properties = (Properties) System.getProperties().clone();
        private final Locale locale = Locale.getDefault();
        private final TimeZone zone = TimeZone.getDefault();
        private final int hooks = hooks();
        private final Set<Thread> threads = Thread.getAllStackTraces().keySet();

        static State now() {
            return new State();
        }

        /** Puts back what can be put back. What was changed that can't be: then this JVM is done with. */
        String restore() {
            Locale.setDefault(locale);
            TimeZone.setDefault(zone);
            Thread.setDefaultUncaughtExceptionHandler(null);
            boolean changed = !System.getProperties().equals(properties);
            System.setProperties((Properties) properties.clone());
            if (changed) {
                return "properties";
            }
            if (hooks() != hooks) {
                return "hooks";
            }
            return threads() ? "threads" : null;
        }

        /** Are there threads that were not there before? The common pool's may stay, and an ending one gets a moment. */
        private boolean threads() {
            for (int tries = 0; ; tries++) {
                boolean left = false;
                for (Thread thread : Thread.getAllStackTraces().keySet()) {
                    left |= !threads.contains(thread) && !thread.getName().startsWith("ForkJoinPool.commonPool-worker")
                        && thread.getThreadGroup() != null && !thread.getThreadGroup().getName().equals("system");
                }
                if (!left || tries == 10) {
                    return left;
                }
                try {
                    Thread.sleep(2);
                } catch (InterruptedException go) {
                    return true;
                }
            }
        }

        private static int hooks() {
            try {
                java.lang.reflect.Field field = Class.forName("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks");
                field.setAccessible(true);
                Map<?, ?> found = (Map<?, ?>) field.get(null);
                return found == null ? 0 : found.size();
            } catch (ReflectiveOperationException | RuntimeException closed) {
                return 0;
            }
        }
    }
}
