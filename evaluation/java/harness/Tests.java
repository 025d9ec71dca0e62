package ensures.harness;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32;
import org.junit.jupiter.engine.JupiterTestEngine;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.vintage.engine.VintageTestEngine;

/** Runs the named tests (Class#method, all invocations of parameterized ones) and says how each came out. */
final class Tests implements TestExecutionListener {
    static final class Result {
        char outcome; // 0: did not run
        int calls;
        long output;
        String said = "";
    }

    private final Recorder recorder;
    private final Map<String, Result> results = new HashMap<>();
    private final Output output = new Output();
    private String current = "";
    boolean surfaced;
    boolean memory;

    Tests(Recorder recorder) {
        this.recorder = recorder;
    }

    Map<String, Result> run(List<String> wanted, ClassLoader loader) throws ReflectiveOperationException {
        Set<String> names = new LinkedHashSet<>(wanted);
        Set<String> classes = new LinkedHashSet<>();
        names.forEach(name -> classes.add(name.substring(0, name.indexOf('#'))));
        List<DiscoverySelector> selectors = new ArrayList<>();
        for (String name : classes) {
            selectors.add(DiscoverySelectors.selectClass(Class.forName(name, false, loader)));
        }
        PostDiscoveryFilter covering = descriptor -> {
            String name = descriptor.getSource().map(Tests::name).orElse("");
            boolean runs = name.isEmpty() || names.contains(name);
            return FilterResult.includedIf(runs);
        };
        PrintStream captured = new PrintStream(output, true);
        PrintStream out = System.out;
        PrintStream err = System.err;
        System.setOut(captured);
        System.setErr(captured);
        try {
            launcher().execute(
                LauncherDiscoveryRequestBuilder.request().selectors(selectors).filters(covering)
                    .configurationParameter("junit.jupiter.execution.parallel.enabled", "false").build(),
                this);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return results;
    }

    /** JUnit 5, and 3 and 4 through the vintage engine; nothing that a class path may bring along. */
    static Launcher launcher() {
        return LauncherFactory.create(LauncherConfig.builder()
            .enableTestEngineAutoRegistration(false)
            .enableLauncherSessionListenerAutoRegistration(false)
            .enableLauncherDiscoveryListenerAutoRegistration(false)
            .enablePostDiscoveryFilterAutoRegistration(false)
            .enableTestExecutionListenerAutoRegistration(false)
            .addTestEngines(new JupiterTestEngine(), new VintageTestEngine())
            .build());
    }

    /** Class#method, or "" for what is no method. */
    static String name(TestSource source) {
        if (!(source instanceof MethodSource)) {
            return "";
        }
        MethodSource method = (MethodSource) source;
        String name = method.getMethodName();
        int bracket = name.indexOf('[');
        return method.getClassName() + "#" + (bracket < 0 ? name : name.substring(0, bracket)).trim();
    }

    @Override
    public void executionStarted(TestIdentifier identifier) {
        String name = identifier.getSource().map(Tests::name).orElse("");
        if (!name.isEmpty() && !name.equals(current)) {
            current = name;
            output.reset();
            recorder.begins(name);
        }
    }

    @Override
    public void executionSkipped(TestIdentifier identifier, String reason) {
        String name = identifier.getSource().map(Tests::name).orElse("");
        if (!name.isEmpty()) {
            finish(name, 's', null);
        }
    }

    @Override
    public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        String name = identifier.getSource().map(Tests::name).orElse("");
        Throwable thrown = result.getThrowable().orElse(null);
        if (result.getStatus() == TestExecutionResult.Status.FAILED) {
            look(thrown, 0);
        }
        if (name.isEmpty()) {
            return;
        }
        if (result.getStatus() == TestExecutionResult.Status.FAILED) {
            finish(name, 'f', thrown);
        } else if (identifier.isTest()) {
            finish(name, result.getStatus() == TestExecutionResult.Status.ABORTED ? 's' : 'p', null);
        }
    }

    private void finish(String name, char outcome, Throwable thrown) {
        Result result = results.computeIfAbsent(name, key -> new Result());
        if (result.outcome != 'f' && !(result.outcome == 'p' && outcome == 's')) {
            result.outcome = outcome;
        }
        result.calls = recorder.callsOf(name);
        result.output = output.digest();
        if (thrown != null && result.said.isEmpty()) {
            try {
                result.said = String.valueOf(thrown);
            } catch (RuntimeException unreadable) {
                result.said = thrown.getClass().getName();
            }
        }
    }

    /** Is one of ours among what a test failed with? */
    private void look(Throwable thrown, int depth) {
        if (thrown == null || depth > 20) {
            return;
        }
        memory |= thrown instanceof OutOfMemoryError;
        String said = "";
        try {
            said = String.valueOf(thrown.getMessage());
        } catch (RuntimeException unreadable) {
            said = "";
        }
        surfaced |= thrown instanceof Recorder.JmlAssertionError || said.contains("JmlAssertionError");
        look(thrown.getCause(), depth + 1);
        for (Throwable suppressed : thrown.getSuppressed()) {
            look(suppressed, depth + 1);
        }
    }

    /** What a test prints is summed up and dropped. */
    private static final class Output extends OutputStream {
        private final CRC32 crc = new CRC32();

        @Override
        public synchronized void write(int value) throws IOException {
            crc.update(value);
        }

        @Override
        public synchronized void write(byte[] bytes, int from, int length) {
            crc.update(bytes, from, length);
        }

        synchronized void reset() {
            crc.reset();
        }

        synchronized long digest() {
            return crc.getValue();
        }
    }
}
