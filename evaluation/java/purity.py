"""The static gate for JML: who may share an execution, whose JVM is replaced afterwards, and who looked where nothing of a
specification's is.

Java is typed: what a clause reaches, it names. `looks` is about members that show the subject's code, the harness, the
process or what is private; such a candidate is `tampered`. `shares` is a positive list of calls; whoever calls something else
runs alone. `leaves_traces` are calls after which the JVM is not used again.
"""

import re
from functools import lru_cache

from evaluation.java.jml.tokens import JmlError, Token, tokens

_LOOKS = frozenset(
    "setAccessible getDeclaredField getDeclaredFields getDeclaredMethod getDeclaredMethods getDeclaredConstructor "
    "getDeclaredConstructors getDeclaredClasses MethodHandles MethodHandle VarHandle StackWalker getStackTrace "
    "StackTraceElement Unsafe Instrumentation ProcessHandle ManagementFactory ClassLoader getClassLoader "
    "getContextClassLoader getProtectionDomain ServiceLoader ScriptEngineManager ObjectInputStream XMLDecoder "
    "FileDescriptor EnsuresJml JmlAssertionError".split()
)
# So are these, of a class object; a project may have methods of its own with such names.
_OF_CLASSES = frozenset("getField getFields getMethod getMethods getResource getResourceAsStream".split())
_CLASS_OBJECTS = frozenset(
    "getClass class Class forName loadClass getDeclaringClass getEnclosingClass \\typeof \\type".split()
)
_LEAVES_TRACES = frozenset(
    "FieldUtils MethodUtils ConstructorUtils ReflectionUtils ReflectionTestUtils System Runtime Thread ThreadGroup "
    "ThreadLocal Timer Executors ExecutorService ForkJoinPool CompletableFuture ProcessBuilder Process exec exit halt "
    "addShutdownHook File Files Path Paths FileReader FileWriter FileInputStream FileOutputStream RandomAccessFile "
    "FileChannel Socket ServerSocket URL URI HttpClient Class forName newInstance Proxy Locale TimeZone Charset "
    "parallel parallelStream wait notify notifyAll sleep setDefault setProperty synchronized".split()
)
_QUIET = frozenset(["lineSeparator", "identityHashCode"])  # of System
# Whole classes whose methods change nothing that they are given.
_CLASSES = frozenset(
    "Math StrictMath Objects Integer Long Double Float Short Byte Boolean Character String Optional Stream IntStream "
    "LongStream DoubleStream Collectors List Set Map Pattern BigInteger BigDecimal Comparator Function Duration Instant "
    "LocalDate LocalDateTime CharSequence".split()
)
_READERS = frozenset(
    "clone equals equalsIgnoreCase hashCode toString compareTo compareToIgnoreCase length charAt codePointAt codePointCount "
    "substring subSequence trim strip stripLeading stripTrailing split lines chars codePoints concat repeat matches "
    "replace replaceFirst intern format formatted join endsWith startsWith regionMatches "
    "size contains containsAll containsKey containsValue stream keySet values entrySet subList toArray entry key value "
    "get getOrDefault getKey getValue getClass getSimpleName getName isInstance ordinal name "
    "allMatch anyMatch noneMatch count sum max min average filter map mapToInt mapToLong mapToDouble mapToObj boxed flatMap "
    "distinct sorted limit skip reduce collect toList findFirst findAny asDoubleStream asLongStream rangeClosed range iterate "
    "orElse orElseGet orElseThrow present "
    "intValue longValue doubleValue floatValue shortValue byteValue booleanValue charValue signum negate abs add subtract "
    "multiply divide remainder mod pow gcd bitCount bitLength scale unscaledValue test apply and or not of "
    "deepEquals asList copyOf copyOfRange nCopies reverseOrder naturalOrder comparing comparingInt thenComparing frequency "
    "disjoint emptyList emptySet emptyMap singletonList singleton unmodifiableList identity toSet toMap groupingBy counting "
    "joining floor ceil sqrt binarySearch isEmpty isBlank".split()
)
_PREFIXES = re.compile(r"(is|has|get|index|last|contains|starts|ends|equals|to|as|compare|count|max|min|num)([A-Z]\w*|Of)?$")
_CHANGERS = re.compile(r"(get|to|is|has)And[A-Z]\w*|getAsInt\w+")
# `add` and its like read on numbers and change collections: allowed only on what is plainly a number is too fine; not allowed
_BOTH = frozenset(["add", "subtract", "multiply", "divide", "and", "or", "not", "negate", "test", "apply", "of"])
_COMPARING = frozenset(["==", "!=", "<=", ">=", "<==", "==>", "<==>", "<=!=>"])
_NEW = frozenset(
    "ArrayList LinkedList HashSet TreeSet LinkedHashSet HashMap TreeMap LinkedHashMap String BigDecimal BigInteger Object "
    "StringBuilder int long double float boolean char byte short Integer".split()
)
_KEYWORDS = frozenset("if for while switch catch super this return ensures requires post pre".split())


def escapes(text: str) -> bool:
    """Java reads \\u0022 as a quote before it reads anything else: such a text is not what it looks like."""
    return bool(re.search(r"\\u+00(22|27|5[cC]|0[aAdD]|2[aAfF]|7[bBdD]|28|29|3[bB])", text))


@lru_cache(4096)
def looks(text: str) -> str:
    """What the candidate looks at that is none of its business; empty if nothing."""
    given = _tokens(text)
    reflects = any(token.text in _CLASS_OBJECTS for token in given)
    for token, after in zip(given, [*given[1:], None], strict=False):
        if token.kind == "word" and (token.text in _LOOKS or "$ensures" in token.text):
            return token.text
        if token.kind == "word" and reflects and token.text in _OF_CLASSES:
            return token.text
        if token.kind == "text" and "ensures" in token.text.lower():
            return "the harness, by its name"
        if token.text == "ensures" and after is not None and after.text == ".":
            return "the harness"
    return ""


@lru_cache(4096)
def leaves_traces(text: str) -> bool:
    """May the candidate change what outlives its execution?"""
    words = _words(text)
    for index, token in enumerate(words):
        if token.text == "System" and index + 1 < len(words) and words[index + 1].text in _QUIET:
            continue
        if token.text in _LEAVES_TRACES:
            return True
    return False


@lru_cache(4096)
def shares(text: str) -> bool:
    """Is it plain that no condition changes anything, so that the candidate may share an execution?"""
    if leaves_traces(text):
        return False
    given = _tokens(text)
    made = 0  # up to here reaches the name of a class whose object is made
    for index, token in enumerate(given):
        if _assigns(given, index):
            return False
        if token.kind != "word" or token.text.startswith("\\") or index < made:
            continue
        after = given[index + 1].text if index + 1 < len(given) else ""
        before = given[index - 1].text if index else ""
        if token.text == "new":
            made = index + 2
            while made + 1 < len(given) and given[made].text == ".":
                made += 2
            if made > len(given) or given[made - 1].text not in _NEW:
                return False
        elif (before == "::" or (after == "(" and token.text not in _KEYWORDS)) and not _reads(
            token.text, before, given, index
        ):
            return False
    return True


def _assigns(given: list[Token], index: int) -> bool:
    token = given[index]
    if token.kind != "operator" or token.text in _COMPARING:
        shifts = token.text in ("<=", ">=") and index > 0 and given[index - 1].text == token.text[0]
        return shifts and given[index - 1].end == token.start
    return token.text in ("++", "--") or token.text.endswith("=")


def _reads(name: str, before: str, given: list[Token], index: int) -> bool:
    owner = given[index - 2].text if before in (".", "::") and index > 1 else ""
    if owner in _CLASSES or (owner in ("Arrays", "Collections") and name in _READERS):
        return True
    if owner in ("Arrays", "Collections"):
        return name.startswith(("equals", "hashCode", "toString", "stream", "unmodifiable", "empty"))
    if name in _BOTH or _CHANGERS.fullmatch(name):
        return False
    return name in _READERS or bool(_PREFIXES.match(name))


def _tokens(text: str) -> list[Token]:
    bare = re.sub(r"^[ \t]*(//[ \t]*@|/\*@|@)", lambda found: " " * len(found.group()), text, flags=re.MULTILINE)
    try:
        return tokens(bare.replace("*/", "  "))
    except JmlError:
        return []


def _words(text: str) -> list[Token]:
    return [token for token in _tokens(text) if token.kind == "word"]
