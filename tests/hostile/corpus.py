"""The corpus: hostile conditions (expressions over `values` and `result`) and hostile mutants (bodies of `double(values)`).

Reasons are alternatives where the machine decides which limit is met first. `os`, `sys` and so on stand for `__import__`s.
"""

import re
from dataclasses import dataclass

MODULES = (
    "os sys signal gc ctypes inspect threading time socket subprocess atexit icontract pytest builtins random types".split()
)


@dataclass(frozen=True)
class Hostile:
    name: str
    code: str
    reasons: frozenset[str]


def _expanded(code: str) -> str:
    """Names of modules at the start of a dotted path become imports, so that a case reads well."""
    for module in MODULES:
        code = re.sub(rf"(?<![\w.'\"]){module}(?=[.,)])", f"__import__('{module}')", code)
    return code


def _cases(text: str) -> list[Hostile]:
    """Lines of `name | reasons | code`."""
    found = []
    for line in text.strip().splitlines():
        if line.strip():
            name, reasons, code = (part.strip() for part in line.split(" | ", 2))
            found.append(Hostile(name, _expanded(code), frozenset(reasons.split())))
    return found


CONDITIONS = _cases(r"""
endless python loop | timeout | any(False for _ in iter(int, 1))
endless C loop | timeout | sum(iter(int, 1)) == 0
endless C loop without a check | timeout out_of_memory condition_raised | pow(7, 10 ** 9) > 0
endless destructor | timeout | type('D', (), {'__del__': lambda s: any(False for _ in iter(int, 1))})() is None
endless message | postcondition_violated | (lambda r: False)(type('R', (), {'__repr__': lambda s: any(False for _ in iter(int, 1))})())
endless except | timeout | any((__import__('contextlib').suppress(ValueError).__exit__(ValueError, ValueError(), None) and False) for _ in iter(int, 1))
sleeping past the limit | timeout | time.sleep(1000) is None
deep recursion | condition_raised | (lambda f: f(f))(lambda f: f(f))
deep recursion in C | condition_raised crashed | repr(__import__('functools').reduce(lambda a, _: [a], range(10 ** 6), [])) == ''
memory at once | condition_raised out_of_memory | len(bytearray(10 ** 12)) > 0
memory in pieces | condition_raised out_of_memory timeout crashed | len([bytearray(10 ** 7) for _ in iter(int, 1)]) > 0
a huge string | condition_raised out_of_memory | 'x' * 10 ** 13 == ''
fork bomb | timeout tampered crashed | [os.fork() for _ in iter(int, 1)]
thread bomb | tampered timeout condition_raised | [threading.Thread(target=time.sleep, args=(99,)).start() for _ in iter(int, 1)]
one thread that stays | tampered passed | threading.Thread(target=time.sleep, args=(99,)).start() is None
os._exit with success | crashed | os._exit(0)
os._exit with failure | crashed | os._exit(3)
os.abort | crashed | os.abort()
sys.exit | condition_raised | sys.exit(0)
SystemExit | condition_raised | (_ for _ in ()).throw(SystemExit(0))
KeyboardInterrupt | condition_raised | (_ for _ in ()).throw(KeyboardInterrupt())
BaseException | condition_raised | (_ for _ in ()).throw(BaseException('all'))
GeneratorExit | condition_raised | (_ for _ in ()).throw(GeneratorExit())
pytest.exit | condition_raised | pytest.exit('bye')
pytest.skip | condition_raised | pytest.skip('no')
pytest.xfail | condition_raised | pytest.xfail('no')
kill itself | tampered | os.kill(os.getpid(), 9)
kill the parent | tampered | os.kill(os.getppid(), 9)
kill init | tampered | os.kill(1, 9) is None
kill the group | tampered crashed | os.killpg(0, 9)
kill everything | tampered | os.kill(-1, 9)
stop the parent | tampered | os.kill(os.getppid(), 19) is None
signals blocked, then a loop | timeout tampered | signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)) is not None and any(False for _ in iter(int, 1))
handlers replaced, then a loop | timeout tampered | [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 3, 15)] and any(False for _ in iter(int, 1))
alarm | crashed tampered | signal.alarm(1) == 0 and time.sleep(5) is None
atexit | passed | atexit.register(os._exit, 0) is not None
patched icontract | postcondition_violated | [setattr(icontract._checkers, 'not_check', lambda *a: False)] and False
patched icontract ensure | postcondition_violated | [setattr(icontract, 'ensure', None)] and False
patched pytest | postcondition_violated | [setattr(pytest, 'main', None)] and False
patched builtins | postcondition_violated | [setattr(builtins, 'all', lambda *a: True)] and False
patched time | passed | [setattr(time, 'perf_counter', lambda: 0), setattr(time, 'time', lambda: 0)] != []
patched random | passed | [random.seed(1), setattr(random, 'random', lambda: 4)] != []
gc switched off | passed | gc.disable() is None
settrace | tampered | sys.settrace(lambda *a: None) is None
setprofile | tampered | sys.setprofile(lambda *a: None) is None
import hook | postcondition_violated | [sys.meta_path.insert(0, None)] and False
modules emptied | postcondition_violated condition_raised | sys.modules.clear() or False
gc.get_objects | tampered | len(gc.get_objects()) > 0
gc.get_referrers | tampered | len(gc.get_referrers(values)) > -1
frames | tampered | sys._getframe() is not None
frames by inspect | tampered | inspect.currentframe() is not None
stack by inspect | tampered | len(inspect.stack()) > 0
current frames | tampered | len(sys._current_frames()) > 0
frames by a traceback | tampered | pytest.raises(ValueError, int, 'x').tb.tb_frame is not None
source of the subject | tampered | 'value * 2' in inspect.getsource(double)
code of the subject | tampered | len(double.__code__.co_code) > 0
code of the body | tampered | len(double.__wrapped__.__code__.co_code) == 1
code by another name | tampered | getattr(double.__wrapped__, '__co' + 'de__') is not None
code exchanged | tampered | [setattr(double, '__code__', (lambda values: []).__code__)] != []
file of the subject | tampered | 'value * 2' in open(double.__globals__['__file__']).read()
memory of its own | tampered | len(open('/proc/self/mem', 'rb').read(0)) == 0
memory of the parent | tampered | open('/proc/%d/mem' % os.getppid(), 'r+b') is not None
memory of init | tampered | open('/proc/1/mem', 'r+b') is not None
descriptors listed | condition_raised passed tampered | len(os.listdir('/proc/1/fd')) > 0
every descriptor written to | tampered | [os.write(fd, b'x' * 64) for fd in range(3, 64) if os.path.exists('/dev/fd/%d' % fd) and not os.isatty(fd) and fd in range(3, 64) and (lambda: True)()] != 5
a forged end | tampered crashed condition_raised | [[os.write(fd, b'\0\0\0\x0b{"e":"end"}') for fd in [f for f in range(3, 40) if os.path.exists('/proc/self/fd/%d' % f)]], os._exit(0)]
a forged end with all its fields | tampered crashed condition_raised | [(lambda d: [os.write(fd, len(d).to_bytes(4, 'big') + d) for fd in range(3, 40) if os.path.exists('/proc/self/fd/%d' % fd)])(b'{"e":"end","nonce":"0","failed":[],"calls":9,"evaluated":[[9]],"surfaced":[[null]],"failed_after":[[false]]}'), os._exit(0)]
a forged fault of the harness | tampered crashed condition_raised | [(lambda d: [os.write(fd, len(d).to_bytes(4, 'big') + d) for fd in range(3, 40) if os.path.exists('/proc/self/fd/%d' % fd)])(b'{"e":"fault","message":"ours"}'), os._exit(0)]
a doubled report by fork | tampered | os.fork() >= 0
double fork with a session of its own | tampered | os.fork() > 0 or (os.setsid(), os.fork(), time.sleep(99))
descriptors closed | crashed condition_raised | os.closerange(0, 4096) is None
workspace deleted | condition_raised | __import__('shutil').rmtree(os.getcwd())
workspace changed | condition_raised | open(double.__globals__['__name__'] + '.py', 'a').write('x') > 0
the test deleted | condition_raised | os.unlink('test_demo.py') is None
disk filled | condition_raised timeout | [open('/tmp/%d' % n, 'wb').write(bytes(10 ** 7)) for n in range(10 ** 6)] != []
a file left behind | passed | open(os.environ['TMPDIR'] + '/left', 'w').write('x') == 1
many files | condition_raised passed timeout | [open('/tmp/f%d' % n, 'w').close() for n in range(20000)] != []
a gigabyte on stdout | passed condition_raised out_of_memory timeout | print('x' * 10 ** 9) is None
a gigabyte past the capture | passed condition_raised timeout | [os.write(1, b'x' * 10 ** 6) for _ in range(1000)] != []
keys in the environment | passed | not any(word in name.upper() for name in os.environ for word in ('KEY', 'TOKEN', 'SECRET', 'PASSWORD'))
network | condition_raised | socket.create_connection(('127.0.0.1', 80), 1) is not None
network by name | condition_raised | socket.getaddrinfo('example.org', 80) != []
the host's services | condition_raised | socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')
ptrace | tampered | __import__('ctypes').CDLL(None).ptrace(16, 1, 0, 0) == 0
a null pointer | tampered | ctypes.string_at(0)
a shell | passed condition_raised tampered | os.system('kill -9 -1') != None
a program | condition_raised passed tampered | subprocess.run(['sleep', '0']).returncode == 0
root | passed | os.getuid() != 0
becoming root | condition_raised | os.setuid(0) is None
a device | condition_raised | os.mknod('/tmp/d', 0o20666, os.makedev(1, 1)) is None
""")

BODIES = _cases(r"""
endless loop | timeout | while True: pass
endless loop in C | timeout | return sum(iter(int, 1))
os._exit | crashed | os._exit(0)
sys.exit | test_failed | sys.exit(0)
recursion | test_failed | return double(values)
memory | test_failed out_of_memory | return [bytearray(10 ** 12)]
kills the parent | tampered crashed | os.kill(os.getppid(), 9)
kills everything | tampered crashed | os.kill(-1, 9)
fork and go on | tampered | os.fork(); return [value * 2 for value in values]
deletes the workspace | test_failed | __import__('shutil').rmtree(os.getcwd())
closes descriptors | crashed test_failed | os.closerange(3, 4096); return [1]
raises BaseException | test_failed | raise BaseException('all')
pytest.exit | test_failed | pytest.exit('bye')
sleeps | timeout | time.sleep(1000)
writes to every descriptor | tampered crashed test_failed | [os.write(fd, b'x' * 64) for fd in range(3, 64) if os.path.exists('/proc/self/fd/%d' % fd)]; return []
""")
