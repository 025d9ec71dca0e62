package ensures.harness;

import static org.junit.jupiter.api.Assertions.assertTrue;

/** Tests of no project, run once in a new JVM: what JUnit keeps for itself (hooks, caches) is there before anything is compared. */
public class Warm {
    @org.junit.jupiter.api.Test
    public void five() {
        assertTrue(true);
    }

    @org.junit.Test
    public void four() {
        assertTrue(true);
    }
}
