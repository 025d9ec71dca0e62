"""Notices conditions that look where no specification has to: at code objects, frames, the collector, the process.

Code in one interpreter can't be kept from looking, but CPython tells of it (audit events, which can't be turned off again).
What looks is named, and its candidate is tampered: a condition that reads the subject's source would "kill" every mutant.
Only conditions that run alone are watched; those that share an execution are plainly pure.
"""

import sys
import threading

# Whoever asks for these looks at the interpreter or at other processes.
_LOOKS = (
    "gc.",
    "ctypes.",
    "sys._current",
    "sys.set",
    "sys.addaudithook",
    "code.__new__",
    "cpython.",
    "os.kill",
    "os.fork",
    "pty.",
    "signal.",
    "_thread.start_new_thread",
    "pdb.",
)
_CODE = ("__code__", "__closure__", "gi_code", "gi_frame", "cr_frame", "tb_frame")
# sys._getframe is asked by much of the library for its own ends; by these and by the candidate itself, to look.
_FRAMERS = ("inspect.py", "traceback.py", "linecache.py")
# What the library reads of a code object to tell a coroutine or a signature is no look at the code.
_ASKERS = ("_has_code_flag", "_signature_from_function", "_signature_is_functionlike")
_PATHS = ("/proc/", "/dev/fd")


class Watch:
    """`evaluating` is the thread-local of the flat pass; `report` gets one event a candidate."""

    def __init__(self, evaluating, report, subject_path):
        self.evaluating, self.report, self.subject_path = evaluating, report, subject_path
        self.busy = threading.local()

    def install(self):
        sys.addaudithook(self.hook)

    def hook(self, event, args):
        candidate = getattr(self.evaluating, "candidate", None)
        if candidate is None or candidate.looked or getattr(self.busy, "now", False):
            return
        self.busy.now = True
        try:
            if self.looks(event, args):
                candidate.looked = True
                self.report({"e": "looked", "c": candidate.index, "what": event})
        finally:
            self.busy.now = False

    def looks(self, event, args):
        if event.startswith(_LOOKS):
            return event not in ("gc.freeze",)
        if event in ("object.__getattr__", "object.__setattr__", "object.__delattr__"):
            return len(args) > 1 and args[1] in _CODE and sys._getframe(2).f_code.co_name not in _ASKERS
        if event == "sys._getframe":
            caller = sys._getframe(2).f_code.co_filename
            return caller.startswith("<candidate") or caller.endswith(_FRAMERS)
        if event == "open" and args:
            path = args[0]
            if isinstance(path, bytes):
                path = path.decode("utf-8", "replace")
            if isinstance(path, int):
                return True
            return isinstance(path, str) and (path.startswith(_PATHS) or path == self.subject_path)
        if event == "import" and args:
            return str(args[0]).split(".")[0] in ("ensures_harness", "ctypes", "_ctypes", "gc", "_posixsubprocess")
        return False
