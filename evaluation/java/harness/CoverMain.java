package ensures.harness;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;

/** Runs every test of the folders given, and prints as JSON how each came out, its seconds, and where it was. */
public final class CoverMain implements TestExecutionListener {
    private final Map<String, Object> outcomes = new LinkedHashMap<>();
    private final Map<String, Object> seconds = new LinkedHashMap<>();
    private final Map<String, Set<Integer>> hits = new LinkedHashMap<>();
    private long since;

    public static void main(String[] folders) throws IOException {
        PrintStream out = System.out;
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        CoverMain main = new CoverMain();
        Set<Path> roots = new LinkedHashSet<>();
        for (String folder : folders) {
            roots.add(Path.of(folder));
        }
        Tests.launcher().execute(
            LauncherDiscoveryRequestBuilder.request().selectors(DiscoverySelectors.selectClasspathRoots(roots)).build(), main);
        out.println(Json.write(Json.of("outcomes", main.outcomes, "seconds", main.seconds, "hits", main.hits)));
        out.flush();
        Runtime.getRuntime().halt(0);
    }

    @Override
    public void executionStarted(TestIdentifier identifier) {
        if (identifier.isTest()) {
            since = System.nanoTime();
        }
    }

    @Override
    public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        String name = identifier.getSource().map(Tests::name).orElse("");
        if (name.isEmpty()) {
            return;
        }
        boolean failed = result.getStatus() == TestExecutionResult.Status.FAILED;
        boolean aborted = result.getStatus() == TestExecutionResult.Status.ABORTED;
        outcomes.merge(name, failed ? "f" : aborted ? "s" : "p", (one, other) -> one.equals("f") ? one : other);
        Set<Integer> mine = hits.computeIfAbsent(name, key -> new LinkedHashSet<>());
        Cover.take().stream().forEach(mine::add);
        if (identifier.isTest()) {
            seconds.merge(name, (System.nanoTime() - since) / 1e9, (one, other) -> (Double) one + (Double) other);
        }
    }
}
