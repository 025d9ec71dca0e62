package ensures.harness;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Writer;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/** Compiles one source text in memory, against the project's classes. */
final class Compiler {
    private final JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
    private final StandardJavaFileManager files;
    private final List<String> options;

    Compiler(List<File> path, List<String> options) throws IOException {
        this.files = javac.getStandardFileManager(null, Locale.ROOT, StandardCharsets.UTF_8);
        files.setLocation(StandardLocation.CLASS_PATH, path);
        this.options = new ArrayList<>(List.of("-proc:none", "-nowarn", "-Xmaxerrs", "10000", "-implicit:none"));
        this.options.addAll(options);
    }

    /** The classes by name; errors are added to `problems` as {from, to, at, line, column, message}. */
    Map<String, byte[]> compile(String name, String text, List<Object> problems) {
        Map<String, ByteArrayOutputStream> written = new LinkedHashMap<>();
        JavaFileManager manager = new ForwardingJavaFileManager<StandardJavaFileManager>(files) {
            @Override
            public JavaFileObject getJavaFileForOutput(
                    Location location, String type, JavaFileObject.Kind kind, FileObject sibling) {
                return new SimpleJavaFileObject(URI.create("mem:///" + type.replace('.', '/') + ".class"), kind) {
                    @Override
                    public OutputStream openOutputStream() {
                        ByteArrayOutputStream stream = new ByteArrayOutputStream();
                        written.put(type, stream);
                        return stream;
                    }
                };
            }
        };
        JavaFileObject source = new SimpleJavaFileObject(URI.create("mem:///" + name), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return text;
            }
        };
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        boolean done;
        try {
            done = javac.getTask(Writer.nullWriter(), manager, found, options, null, List.of(source)).call();
        } catch (RuntimeException | StackOverflowError broken) {
            done = false;
            problems.add(Json.of("from", -1, "to", -1, "at", -1, "message", "the compiler failed: " + broken));
        }
        for (Diagnostic<? extends JavaFileObject> one : found.getDiagnostics()) {
            if (one.getKind() == Diagnostic.Kind.ERROR) {
                String message = one.getMessage(Locale.ROOT);
                problems.add(Json.of("from", one.getStartPosition(), "to", one.getEndPosition(), "at", one.getPosition(),
                    "message", message.length() > 600 ? message.substring(0, 600) : message));
            }
        }
        if (!done && problems.isEmpty()) {
            problems.add(Json.of("from", -1, "to", -1, "at", -1, "message", "the compiler failed without a word"));
        }
        Map<String, byte[]> classes = new LinkedHashMap<>();
        written.forEach((type, stream) -> classes.put(type, stream.toByteArray()));
        return classes;
    }
}
