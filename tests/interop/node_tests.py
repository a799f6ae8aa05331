"""Runs the ONNX backend tests through our session, and on request through ONNX Runtime for the same table.

    python tests/interop/node_tests.py                    # our session, compared with node_expected.json
    python tests/interop/node_tests.py --with-ort         # both counts side by side
    python tests/interop/node_tests.py --update           # rewrite the expectations from this run
    python tests/interop/node_tests.py --filter 'conv*'   # some tests only; expectations are checked for those

Exit status 0 only if every test does what node_expected.json says: a new failure, a crash and an unexpected
pass all fail the run.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import importlib.util
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import comparison
import node_data
import node_suite
from engines import ENGINES, Refused, one_line
from worker_pool import run_isolated

RTOL, ATOL = 1e-3, 1e-4
HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "node_expected.json"
OUTCOMES = ("pass", "wrong", "unsupported", "refused", "non_tensor", "string", "exception", "crash", "timeout")


def run_one(job: tuple[str, node_suite.NodeTest, bool]) -> dict:
    """In a worker: one test on one engine. Returns status, code, reason, subject op."""
    engine, test, try_all = job
    import onnx

    model = onnx.load(test.model_path)
    record = {"op": node_suite.subject_op(test, model), "code": "", "reason": ""}
    kind = node_suite.io_class(model)
    if kind != "tensor" and not try_all:
        what = "string tensors" if kind == "string" else "sequences, optionals or maps"
        return {**record, "status": kind, "reason": f"{what} at the model's border"}
    try:
        sets = node_suite.read_data_sets(test, model)
        results = ENGINES[engine](test.model_path, [feeds for feeds, _ in sets])
    except Refused as refusal:
        unsupported = refusal.code.startswith("EC3") or refusal.code == "NotImplemented"
        status = "unsupported" if unsupported else "refused"
        return {**record, "status": status, "code": refusal.code, "reason": refusal.reason}
    except Exception as error:
        return {**record, "status": "exception", "reason": one_line(f"{type(error).__name__}: {error}")}
    for (_, expected), actual in zip(sets, results):
        if len(actual) != len(expected):
            return {**record, "status": "wrong", "reason": f"{len(actual)} outputs instead of {len(expected)}"}
        for i, (a, e) in enumerate(zip(actual, expected)):
            difference = node_suite.compare(a, e, RTOL, ATOL)
            if difference:
                return {**record, "status": "wrong", "reason": f"output {i}: {difference}"}
    return {**record, "status": "pass"}


def run_engine(engine: str, tests: list[node_suite.NodeTest], args: argparse.Namespace) -> dict[str, dict]:
    jobs = [(engine, test, args.try_all) for test in tests]
    records: dict[str, dict] = {}
    started = time.monotonic()
    for index, outcome, value in run_isolated(run_one, jobs, args.workers, args.timeout):
        test = tests[index]
        record = value if outcome == "done" else {"op": "?", "status": outcome, "code": "", "reason": value}
        records[test.key] = record
        if sys.stderr.isatty():
            print(f"\r{engine}: {len(records)} of {len(tests)}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"{engine}: {len(tests)} tests in {time.monotonic() - started:.1f} s")
    return {test.key: records[test.key] for test in tests}


def totals(records: dict[str, dict]) -> dict[str, collections.Counter]:
    by_category: dict[str, collections.Counter] = {}
    for key, record in records.items():
        by_category.setdefault(key.split("/")[0], collections.Counter())[record["status"]] += 1
    return by_category


def print_totals(engine: str, records: dict[str, dict]) -> list[str]:
    lines = [f"| {engine} | tests | " + " | ".join(OUTCOMES) + " |", "|---|---|" + "---|" * len(OUTCOMES)]
    for category, counter in totals(records).items():
        cells = " | ".join(str(counter[o]) for o in OUTCOMES)
        lines.append(f"| {category} | {sum(counter.values())} | {cells} |")
    print("\n".join(lines))
    return lines


def table(suite: str, runs: dict[str, dict[str, dict]]) -> list[str]:
    lines = [f"# ONNX backend tests, data of onnx {suite}", "", f"rtol {RTOL:g}, atol {ATOL:g}; integers exact.", ""]
    for engine, records in runs.items():
        lines += print_totals(engine, records) + [""]
    first = next(iter(runs))
    lines += ["## By op", "", "| op | tests | " + " | ".join(f"{e} pass" for e in runs) + " |", "|---|---|" + "---|" * len(runs)]
    ops = collections.defaultdict(list)
    for key, record in runs[first].items():
        ops[record["op"]].append(key)
    for op, keys in sorted(ops.items()):
        cells = [str(sum(runs[e][k]["status"] == "pass" for k in keys)) for e in runs]
        lines.append(f"| {op} | {len(keys)} | " + " | ".join(cells) + " |")
    for engine, records in runs.items():
        lines += ["", f"## Not passed by {engine}", "", "| test | op | status | code | reason |", "|---|---|---|---|---|"]
        for key, record in records.items():
            if record["status"] != "pass":
                reason = record["reason"].replace("|", "\\|")
                lines.append(f"| {key} | {record['op']} | {record['status']} | {record['code']} | {reason} |")
    return lines


def compare_with_expected(records: dict[str, dict], expected: dict[str, dict]) -> list[str]:
    """One line per test whose status is not the expected one; tests not listed must pass."""
    faults = []
    for key, record in records.items():
        want = expected.get(key, {}).get("status", "pass")
        if record["status"] != want:
            detail = f" ({record['code']} {record['reason']})" if record["reason"] else ""
            faults.append(f"{key}: {record['status']}, expected {want}{detail}")
    return faults


def read_expected(suite: str) -> dict[str, dict]:
    if not EXPECTED.exists():
        return {}
    return json.loads(EXPECTED.read_text()).get(suite, {})


def update_expected(suite: str, records: dict[str, dict]) -> None:
    whole = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    kept = {}
    for key, record in records.items():
        if record["status"] != "pass":
            kept[key] = {k: record[k] for k in ("status", "code", "reason") if record[k]}
    whole[suite] = kept
    EXPECTED.write_text(json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(f"{EXPECTED.name}: {len(kept)} tests of suite {suite} are expected not to pass")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=node_data.SUITES, default=node_data.SUITES[0])
    parser.add_argument("--category", action="append", choices=node_suite.CATEGORIES)
    parser.add_argument("--filter", action="append", default=[], help="glob on the test name, test_ may be left out")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="edgecompiler")
    parser.add_argument("--with-ort", action="store_true", help="also run ONNX Runtime and print both counts")
    parser.add_argument("--try-all", action="store_true", help="run tests with string or non-tensor values too")
    parser.add_argument("--update", action="store_true", help="rewrite node_expected.json from this run")
    parser.add_argument("--out", type=pathlib.Path, help="folder for node_tests-SUITE.{md,json}")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("-v", "--verbose", action="store_true", help="print every test that does not pass")
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    if importlib.util.find_spec(args.engine) is None:
        print(f"node tests: {args.engine} is not installed in this environment", file=sys.stderr)
        return 2
    root = node_data.prepare(args.suite)
    tests = node_suite.list_tests(root, tuple(args.category or node_suite.CATEGORIES))
    if args.filter:
        globs = [f"*{g.removeprefix('test_')}" if "*" not in g else f"*{g}" for g in args.filter]
        tests = [t for t in tests if any(fnmatch.fnmatch(t.name, g) for g in globs)]
    engines = [args.engine] + (["onnxruntime"] if args.with_ort and args.engine != "onnxruntime" else [])
    runs = {engine: run_engine(engine, tests, args) for engine in engines}
    if args.verbose:
        for key, record in runs[args.engine].items():
            if record["status"] != "pass":
                print(f"{key} [{record['op']}]: {record['status']} {record['code']} {record['reason']}")
    if args.out:
        comparison.save_lines(args.out, f"node_tests-{args.suite}.md", table(args.suite, runs))
        comparison.save_json(args.out, f"node_tests-{args.suite}.json", runs)
    else:
        for engine, records in runs.items():
            print_totals(engine, records)
    if args.engine != "edgecompiler":
        return 0
    if args.update:
        update_expected(args.suite, runs[args.engine])
        return 0
    faults = compare_with_expected(runs[args.engine], read_expected(args.suite))
    for line in faults:
        print(f"unexpected: {line}")
    print("node tests: all as expected" if not faults else f"node tests: {len(faults)} not as expected")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
