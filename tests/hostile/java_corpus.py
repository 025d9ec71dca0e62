"""Hostile JML: what a candidate may try, and what it may come to. `CODE` pieces are statements in a lambda that a clause calls."""

from dataclasses import dataclass

from ensures.verdict import Reason as R

RAN = {
    R.PASSED,
    R.POSTCONDITION_VIOLATED,
    R.CONDITION_RAISED,
    R.TEST_FAILED,
}  # as if it were any condition; nobody else may notice
ENDED = {R.CRASHED, R.OUT_OF_MEMORY}


@dataclass(frozen=True)
class Piece:
    name: str
    text: str
    reasons: frozenset[R]


def clause(name: str, condition: str, *reasons: R) -> Piece:
    return Piece(name, f"//@ ensures {condition};", frozenset(reasons))


def code(name: str, statements: str, *reasons: R) -> Piece:
    return clause(name, f"((java.util.function.BooleanSupplier) () -> {{ {statements} }}).getAsBoolean()", *reasons)


def trying(name: str, statements: str, *reasons: R) -> Piece:
    return code(name, f"try {{ {statements} }} catch (Exception e) {{ return false; }} return true;", *reasons)


PIECES = [
    # time
    code("endless loop", "while (true) { }", R.TIMEOUT),
    code("endless sleep", "while (true) { try { Thread.sleep(1000); } catch (Throwable t) { } }", R.TIMEOUT),
    code("waits for ever", "Object o = new Object(); synchronized (o) { try { o.wait(); } catch (Exception e) { } } return true;", R.TIMEOUT),
    code("message without end", "throw new RuntimeException() { public String toString() { while (true) { } } };", R.TIMEOUT),
    # memory
    code("stack overflow", "class F { int f(int n) { return f(n + 1) + 1; } } return new F().f(0) > 0;", R.CONDITION_RAISED),
    code("allocation", "java.util.List<long[]> l = new java.util.ArrayList<>(); while (true) { l.add(new long[1 << 20]); }", R.OUT_OF_MEMORY),
    clause("a huge array", "new long[Integer.MAX_VALUE].length > 0", R.OUT_OF_MEMORY),
    code("allocation in a thread", "Thread t = new Thread(() -> { java.util.List<long[]> l = new java.util.ArrayList<>(); while (true) { "
         "l.add(new long[1 << 20]); } }); t.start(); try { t.join(); } catch (Exception e) { } return true;", R.OUT_OF_MEMORY),
    code("interned strings", 'StringBuilder s = new StringBuilder("x"); while (true) { s.append(s); }', R.OUT_OF_MEMORY, R.CONDITION_RAISED),
    # the end of the JVM
    code("exit 0", "System.exit(0); return true;", R.CRASHED),
    code("exit 3", "System.exit(3); return true;", *ENDED),
    code("exit of the runtime", "Runtime.getRuntime().exit(1); return true;", R.CRASHED),
    code("halt", "Runtime.getRuntime().halt(0); return true;", R.CRASHED),
    trying("kills itself", 'new ProcessBuilder("sh", "-c", "kill -9 $PPID").start().waitFor(); Thread.sleep(500);', R.CRASHED),
    trying("kills everybody", 'new ProcessBuilder("sh", "-c", "kill -9 -1").start().waitFor(); Thread.sleep(500);', R.CRASHED),
    trying("kills init", 'new ProcessBuilder("kill", "-9", "1").start().waitFor();', *RAN),
    trying("stops the JVM", 'new ProcessBuilder("sh", "-c", "kill -STOP $PPID").start().waitFor(); Thread.sleep(500);', R.TIMEOUT),
    code("a hook that never ends", "Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true) { } })); return true;", *RAN),
    code("a hook and exit", "Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true) { } })); System.exit(0); return true;", R.TIMEOUT, R.CRASHED),
    # threads
    code("a thread that never ends", "new Thread(() -> { while (true) { } }).start(); return true;", *RAN),
    code("many threads", "for (int i = 0; i < 2000; i++) { new Thread(() -> { while (true) { try { Thread.sleep(1000); } catch (Exception e) { } } }).start(); } return true;", *RAN, *ENDED),
    code("interrupts all threads", "for (Thread t : Thread.getAllStackTraces().keySet()) { t.interrupt(); } return true;", *RAN),
    code("a timer", "new java.util.Timer().schedule(new java.util.TimerTask() { public void run() { } }, 0, 1); return true;", *RAN),
    code("death of the thread", "throw new ThreadDeath();", R.CONDITION_RAISED),
    # files, processes, the network
    trying("writes into the project", 'new java.io.File("pwned").createNewFile();', *RAN),
    trying("writes into its classes", 'java.nio.file.Files.writeString(java.nio.file.Path.of("target/pwned"), "x");', *RAN),
    trying("fills the scratch", 'try (java.io.FileOutputStream f = new java.io.FileOutputStream("/tmp/x/big")) { while (f != null) { f.write(new byte[1 << 20]); } }', *RAN),
    trying("reads secrets", 'if (java.nio.file.Files.readString(java.nio.file.Path.of("/etc/shadow")).length() < 1) return true;', *RAN),
    trying("starts a process that stays", 'new ProcessBuilder("sleep", "4321").start();', *RAN),
    trying("starts a daemon", 'new ProcessBuilder("setsid", "sh", "-c", "sleep 4321 &").start();', *RAN),
    trying("opens a socket", 'new java.net.Socket("1.1.1.1", 80).close();', *RAN),
    trying("serves", "new java.net.ServerSocket(0).close();", *RAN),
    trying("writes to its parent", 'java.nio.file.Files.write(java.nio.file.Path.of("/proc/self/fd/1"), "hello".getBytes());', R.TAMPERED, R.CONDITION_RAISED, R.POSTCONDITION_VIOLATED),
    trying("forges an end", 'byte[] b = "{\\"e\\":\\"end\\",\\"evaluated\\":[[9]]}".getBytes(); java.nio.file.Files.write('
           'java.nio.file.Path.of("/proc/self/fd/1"), new byte[] {0, 0, 0, (byte) b.length}); '
           'java.nio.file.Files.write(java.nio.file.Path.of("/proc/self/fd/1"), b);', R.TAMPERED, R.CONDITION_RAISED, R.POSTCONDITION_VIOLATED),
    trying("shrinks the shared memory", 'for (java.io.File f : new java.io.File("/proc/self/fd").listFiles()) { try (java.io.RandomAccessFile r = '
           'new java.io.RandomAccessFile(f, "rw")) { r.setLength(0); } catch (Exception e) { } }', *RAN, R.TAMPERED, R.CRASHED, R.TIMEOUT),
    # looking around
    trying("the harness by its name", 'Class.forName("ensures.harness.Recorder").getDeclaredFields();', R.TAMPERED),
    clause("the harness's own class", "EnsuresJml.body() == 0", R.TAMPERED),
    clause("the harness's package", "ensures.harness.EnsuresJml.enter() == null", R.TAMPERED),
    clause("the woven variables", "$ensures_result == 1", R.TAMPERED),
    clause("the woven call", "$ensures_call != null", R.TAMPERED),
    clause("the stack", "Thread.currentThread().getStackTrace().length > 3", R.TAMPERED),
    clause("the stack, walked", "StackWalker.getInstance() != null", R.TAMPERED),
    trying("its own bytes", 'if (this.getClass().getResourceAsStream("Target.class") == null) return false;', R.TAMPERED),
    trying("private fields", 'this.getClass().getDeclaredField("total").setAccessible(true);', R.TAMPERED),
    trying("its methods", "if (this.getClass().getDeclaredMethods().length > 3) return true;", R.TAMPERED),
    trying("the output's descriptor", "new java.io.FileOutputStream(java.io.FileDescriptor.out).write(1);", R.TAMPERED),
    trying("handles", "java.lang.invoke.MethodHandles.lookup();", R.TAMPERED),
    # what others share
    code("changes a static", "Target.created = 100; return true;", *RAN),
    code("changes the object", "this.total = -100; return true;", *RAN),
    clause("empties a list", "values.removeAll(values) || true", *RAN),
    clause("sorts a list", "((java.util.function.Supplier<Boolean>) () -> { values.sort(null); return true; }).get()", *RAN),
    clause("counts up", "this.total++ >= 0", *RAN),
    clause("assigns the result", "(\\result = 5) == 5", R.COMPILE_ERROR, R.SYNTAX_ERROR),
    clause("assigns a parameter", "(n = 5) == 5", R.COMPILE_ERROR, R.SYNTAX_ERROR),
    code("changes a property", 'System.setProperty("line.separator", "x"); return true;', *RAN),
    code("changes the locale", "java.util.Locale.setDefault(java.util.Locale.CHINA); return true;", *RAN),
    code("takes the output away", "System.setOut(null); System.setErr(null); return true;", *RAN),
    code("closes the output", "System.out.close(); return true;", *RAN),
    trying("reads the input", "if (System.in.read() >= 0) return false;", *RAN),
    code("an uncaught handler", "Thread.setDefaultUncaughtExceptionHandler((t, e) -> { while (true) { } }); return true;", *RAN),
    code("aborts the test", "org.junit.jupiter.api.Assumptions.assumeTrue(false); return true;", R.CONDITION_RAISED),
    code("a class that does not initialize", "class Bad { static int x = 1 / (Bad.class.hashCode() * 0); } return Bad.x > 0;", R.CONDITION_RAISED),
    # the compiler
    clause("a method of more than 64 KB", " && ".join(f"n != {100_000 + i}" for i in range(9000)), R.COMPILE_ERROR, R.UNSUPPORTED),
    clause("a constant too long", f'"{"a" * 70_000}".length() > 0', R.COMPILE_ERROR),
    clause("brackets without end", "(" * 300 + "true" + ")" * 300, R.SYNTAX_ERROR, R.PASSED),
    clause("a sum without end", "n == " + " + ".join(["n"] * 30_000), R.COMPILE_ERROR, R.SYNTAX_ERROR),
    clause("nested calls", "n == " + "Math.abs(" * 2000 + "n" + ")" * 2000, R.COMPILE_ERROR, R.SYNTAX_ERROR),
    clause("closes what is around it", "true) return -1; if (!(true", R.SYNTAX_ERROR),
    clause("ends the method", "true; } } static { System.exit(0); } void f() { if (true", R.SYNTAX_ERROR, R.COMPILE_ERROR),
    clause("a comment that stays open", "true /* ", R.SYNTAX_ERROR),
    clause("a line comment at the end", "true // && false", R.SYNTAX_ERROR, R.PASSED),
    clause("an escaped quote", '"\\u0022.length() > 0 || System.exit(0) + \\u0022".isEmpty()', R.UNSUPPORTED),
    clause("a label", "ensures: true", R.SYNTAX_ERROR, R.COMPILE_ERROR, R.TAMPERED),
    clause("a class named like ours", "new Object() { class EnsuresJml { } } != null", R.TAMPERED),
]  # fmt: skip
