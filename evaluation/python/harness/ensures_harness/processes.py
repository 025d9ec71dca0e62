"""What a supervisor does with the processes below it, whatever language they speak: finds them, ends them, sweeps up."""

import ctypes
import os
import resource
import shutil
import signal
import time

from . import wire

HUGE, MADV_COLLAPSE = 2 << 20, 25
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG = 4, 36, 1


def channels():
    """Takes standard input and output for itself: (requests, answers), which no child inherits. What it says on standard
    error are its own last words. Nobody below can look into it, orphans become its children, and it ends with its parent."""
    requests, answers = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(nowhere, fd)
    for fd in (requests, answers):
        os.set_inheritable(fd, False)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return requests, answers


def limit(config, memory=True):
    """Limits that this process and all below it keep. `memory` False where something else limits it."""
    for what, value in (
        (resource.RLIMIT_AS, config["memory_mb"] << 20 if memory else resource.RLIM_INFINITY),
        (resource.RLIMIT_FSIZE, config["file_mb"] << 20),
        (resource.RLIMIT_NOFILE, config["open_files"]),
        (resource.RLIMIT_NPROC, config["processes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            value = hard if value == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))


def sweep(spared, spare_parent=False):
    """Kills every process below this one that is not spared, and reaps what is its own child."""
    for _ in range(200):
        victims = [pid for pid in below() if pid not in spared]
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        while True:
            try:
                done, _ = os.waitpid(-1, os.WNOHANG)
            except OSError:
                break
            if done == 0:
                break
        if not victims or spare_parent:
            return
        time.sleep(0.002)


def below():
    """Every process of the namespace, or where init is not ours every descendant; zombies left out."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            state, parent = state_and_parent(entry)
            if state not in ("", "Z"):
                parents[int(entry)] = parent
    me = os.getpid()
    if me == 1:
        return [pid for pid in parents if pid != 1]
    found, frontier = [], {me}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier}
        found += frontier
    return found


def compact():
    """Gives free memory back and has the rest in huge pages, where the kernel can (Linux 6.1): a fork copies a page table
    entry for each page, and forks of this process are what executions are."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    for where, access, *rest in lines:
        first, last = (int(number, 16) for number in where.split("-"))
        first, last = -(-first // HUGE) * HUGE, last // HUGE * HUGE
        if access == "rw-p" and (len(rest) < 4 or rest[3] == "[heap]") and first < last:
            libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), MADV_COLLAPSE)


def stopped(pids):
    """Is any of them stopped by a signal?"""
    return any(state_and_parent(pid)[0] in ("T", "t") for pid in pids)


def state_and_parent(pid):
    """A letter and a number, as the kernel has them; an empty letter where there is no such process."""
    try:
        with open("/proc/%s/stat" % pid) as file:
            state, parent = file.read().rpartition(")")[2].split()[:2]
    except OSError:
        return "", 0
    return state, int(parent)


def clean(folder, spared=()):
    """Empties the scratch folder."""
    for entry in os.listdir(folder):
        path = os.path.join(folder, entry)
        if entry in spared:
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            try:
                os.unlink(path)
            except OSError:
                pass


def serve(requests, answers, answer):
    """Answers requests until there are none. `answer` gives a message for a message."""
    while True:
        request = wire.receive(requests)
        if request is None:
            return
        wire.send(answers, answer(request))
