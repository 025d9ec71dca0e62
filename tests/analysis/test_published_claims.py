"""The arithmetic of docs/published.md, from the figures that PostcondBench prints."""

import pytest

HALF = 0.0005  # of the last digit printed
MODELS = ("GPT-5", "Claude-4.5", "LLaMA-4", "Qwen3-32B", "Gemma-3-27B")
# Corr@1, Comp@1 (Table 2); the same for C2P, N2P, F2P (Table 5)
TABLE_2 = {
    "GPT-5": (0.483, 0.255),
    "Claude-4.5": (0.629, 0.207),
    "LLaMA-4": (0.214, 0.094),
    "Qwen3-32B": (0.118, 0.055),
    "Gemma-3-27B": (0.110, 0.044),
}
TABLE_5 = {
    "GPT-5": ((0.493, 0.290), (0.434, 0.177), (0.520, 0.298)),
    "Claude-4.5": ((0.645, 0.234), (0.593, 0.150), (0.650, 0.237)),
    "LLaMA-4": ((0.224, 0.105), (0.180, 0.062), (0.239, 0.116)),
    "Qwen3-32B": ((0.141, 0.062), (0.092, 0.043), (0.120, 0.060)),
    "Gemma-3-27B": ((0.117, 0.054), (0.097, 0.026), (0.117, 0.053)),
}
TABLE_9 = {"python": 0.0516, "java": 0.2106}
# Python Corr Dep., Solo., Comp Dep., Solo., then Java; by model, C2P, N2P, F2P
TABLE_10 = [
    (0.315, 0.419, 0.135, 0.210, 0.614, 0.768, 0.385, 0.600),
    (0.211, 0.365, 0.038, 0.126, 0.591, 0.708, 0.245, 0.503),
    (0.335, 0.419, 0.139, 0.245, 0.662, 0.768, 0.393, 0.578),
    (0.470, 0.600, 0.070, 0.216, 0.782, 0.784, 0.332, 0.459),
    (0.441, 0.597, 0.018, 0.152, 0.699, 0.703, 0.216, 0.368),
    (0.484, 0.603, 0.072, 0.223, 0.775, 0.805, 0.335, 0.459),
    (0.120, 0.158, 0.024, 0.052, 0.301, 0.395, 0.160, 0.265),
    (0.092, 0.142, 0.004, 0.039, 0.232, 0.351, 0.083, 0.232),
    (0.143, 0.190, 0.023, 0.081, 0.302, 0.405, 0.173, 0.281),
    (0.012, 0.023, 0.001, 0.010, 0.250, 0.351, 0.116, 0.146),
    (0.009, 0.006, 0.000, 0.000, 0.149, 0.303, 0.055, 0.232),
    (0.015, 0.006, 0.003, 0.003, 0.215, 0.292, 0.108, 0.157),
    (0.016, 0.006, 0.001, 0.000, 0.209, 0.276, 0.090, 0.184),
    (0.035, 0.032, 0.000, 0.000, 0.170, 0.108, 0.046, 0.076),
    (0.019, 0.019, 0.003, 0.000, 0.197, 0.297, 0.083, 0.200),
]
SOLO = {"python": 62, "java": 37}
METHODS = 210


@pytest.mark.parametrize("model", MODELS)
def test_table_2_is_the_mean_of_table_5(model: str) -> None:
    for column in (0, 1):
        assert TABLE_2[model][column] == pytest.approx(sum(row[column] for row in TABLE_5[model]) / 3, abs=2 * HALF)


def test_table_11_names_claudes_mean_where_it_names_gpts_f2p() -> None:
    without = {"GPT-5": (0.520, 0.298), "Claude-4.5": (0.629, 0.207)}
    assert without["GPT-5"] == TABLE_5["GPT-5"][2]
    assert without["Claude-4.5"] == TABLE_2["Claude-4.5"] != TABLE_5["Claude-4.5"][2]
    gain = [round(a - b, 3) for a, b in zip((0.814, 0.283), TABLE_5["Claude-4.5"][2], strict=True)]
    assert gain == [0.164, 0.046]


def test_one_cell_of_table_8_changes_by_more_than_four_percent() -> None:
    baseline = dict(zip(MODELS, (0.2551, 0.2068, 0.0944, 0.0551, 0.0441), strict=True))  # Table 7
    changed = {"five": (0.265, 0.215, 0.098, 0.056, 0.046), "half": (0.265, 0.216, 0.098, 0.057, 0.045)}
    over = [
        (model, name)
        for name, row in changed.items()
        for model, value in zip(MODELS, row, strict=True)
        if (value - HALF) / baseline[model] - 1 > 0.04
    ]
    assert over == [("Claude-4.5", "half")]
    assert pytest.approx(0.042, abs=0.0005) == (0.216 - HALF) / 0.2068 - 1


def test_stand_alone_methods_can_be_counted_from_table_10() -> None:
    """Shares of n methods with five samples are multiples of 1 / 5 n: only these counts fit all cells."""

    def fits(count: int, columns: tuple[int, int]) -> bool:
        cells = (row[column] for row in TABLE_10 for column in columns)
        return all(abs(cell - round(cell * count * 5) / (count * 5)) <= HALF + 1e-9 for cell in cells)

    assert [count for count in range(50, 75) if fits(count, (1, 3))] == [SOLO["python"]]
    assert [count for count in range(30, 45) if fits(count, (5, 7))] == [SOLO["java"]]


def test_table_10_gives_table_5() -> None:
    for number, row in enumerate(TABLE_10):
        expected = TABLE_5[MODELS[number // 3]][number % 3]
        for column in (0, 1):
            values = []
            for first, language in ((0, "python"), (4, "java")):
                dependent, alone = row[first + 2 * column], row[first + 2 * column + 1]
                values.append((dependent * (METHODS - SOLO[language]) + alone * SOLO[language]) / METHODS)
            assert sum(values) / 2 == pytest.approx(expected[column], abs=0.00105)


def test_table_3_is_the_mean_of_table_10_and_51_needs_two_ties() -> None:
    means = [sum(row[column] for row in TABLE_10) / len(TABLE_10) for column in range(8)]
    assert means == pytest.approx([0.181, 0.239, 0.035, 0.090, 0.410, 0.488, 0.188, 0.316], abs=2 * HALF)
    pairs = [(row[column], row[column + 1]) for row in TABLE_10 for column in range(0, 8, 2)]
    assert sum(alone > dependent for dependent, alone in pairs) == 49
    assert sum(alone == dependent for dependent, alone in pairs) == 4
    assert sum(alone == dependent > 0 for dependent, alone in pairs) == 2


def test_baselines_and_counts() -> None:
    assert sum(TABLE_9.values()) / 2 == pytest.approx(sum(comp for _, comp in TABLE_2.values()) / 5, abs=2 * HALF)
    assert round((2670 + 2957 - 43) / METHODS, 1) == 26.6
    assert round((2530 + 2075 - 2) / METHODS, 1) == 21.9
    assert round(100 * (135 + 141) / 420) == 66
