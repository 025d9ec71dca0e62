package ensures.harness;

import java.util.BitSet;

/** Where an instrumented project has been, in the test that runs now. */
public final class Cover {
    private static BitSet hits = new BitSet();

    private Cover() {}

    public static synchronized void at(int place) {
        hits.set(place);
    }

    /** What was hit since the last time. */
    static synchronized BitSet take() {
        BitSet found = hits;
        hits = new BitSet();
        return found;
    }
}
