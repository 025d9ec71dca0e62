package ensures.harness;

/** One call of the subject: what it was before, and what each candidate says of it after. */
public final class Call {
    final Recorder recorder;
    final String test;
    final int number;
    final EnsuresJml.Check[] checks;
    private int clause = -1;
    private final boolean[] unsaved;
    char[] truths;
    Object before; // what a look at the call's beginning saw

    Call(Recorder recorder, String test, int number) {
        this.recorder = recorder;
        this.test = test;
        this.number = number;
        this.checks = new EnsuresJml.Check[recorder.size];
        this.unsaved = new boolean[recorder.size];
    }

    /** Should the candidate's part before the body be done? Until `done` the subject runs bare in this thread. */
    public boolean begins(int candidate) {
        if (!recorder.wants(this, candidate)) {
            return false;
        }
        recorder.enterCondition(candidate);
        return true;
    }

    public void done(int candidate) {
        recorder.leaveCondition();
    }

    /** The candidate's clauses, for after the body. */
    public void check(int candidate, EnsuresJml.Check check) {
        checks[candidate] = check;
    }

    /** As `raised`, for a constructor, whose clauses then stay away. */
    void unsaved(int candidate, Throwable thrown) {
        unsaved[candidate] = true;
        recorder.raised(this, candidate, -1, thrown);
    }

    /** Of a constructor: was everything saved that the candidate wants to know? */
    public boolean saved(int candidate) {
        return recorder.wants(this, candidate) && !unsaved[candidate];
    }

    /** The call lies outside of the candidate's precondition, which says nothing of it then. */
    public void outside(int candidate) {
        recorder.outside(this, candidate);
    }

    /** Which clause is evaluated next. */
    public void clause(int index) {
        clause = index;
    }

    /** The candidate's part before the body threw. */
    public void raised(int candidate, Throwable thrown) {
        recorder.raised(this, candidate, -1, thrown);
    }

    /** The body ended by an exception. */
    public void threw() {
        recorder.threw(this);
    }

    /** Is somebody interested in values? */
    public boolean looks() {
        return recorder.looks();
    }

    public void sees(Object self, Object... arguments) {
        recorder.sees(this, self, arguments);
    }

    public void saw(Object self, Object result, Object... arguments) {
        recorder.saw(this, self, result, arguments);
    }

    /** The body ended, with its result (boxed; null where there is none). */
    public void returned(Object result) {
        for (int candidate : recorder.wanted) {
            EnsuresJml.Check check = checks[candidate];
            if (check == null) {
                continue;
            }
            clause = -1;
            recorder.enterCondition(candidate);
            int violated = -1;
            Throwable thrown = null;
            try {
                violated = check.at(result);
                if (violated < 0) {
                    recorder.perturbs(candidate, check, result);
                }
            } catch (Throwable problem) {
                thrown = problem;
            } finally {
                recorder.leaveCondition();
            }
            if (thrown != null) {
                recorder.raised(this, candidate, clause, thrown);
            } else {
                recorder.evaluated(this, candidate, violated);
            }
        }
        recorder.returned(this);
    }
}
