"""Ctrl-C ends what the library does, in the time of a breath."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from edgecompiler import EdgeCompilerError, compile, inspect
from edgecompiler.runtime import InferenceSession

FOREVER = """ecir 1
graph @g(%x: f32[2]) -> (y = %y) {
  %n = const i64[] splat(4611686018427387904)
  %yes = const bool[] splat(1)
  %y = loop(%n, %yes, %x) {num_carried=1} loc("endless" : "Loop")
    body graph @body(%i: i64[], %c: bool[], %a: f32[2]) -> (c = %c, r = %r) {
      %r = neg(%a)
    }
}
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "forever.ecir"
    path.write_text(FOREVER)
    return path


def interrupted(call, after=0.4):
    """Seconds from the signal to the KeyboardInterrupt that ended the call."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()
        timer.join()


def test_a_run_stops(model):
    with InferenceSession(model) as session:
        feed = {"x": np.ones(2, np.float32)}
        assert interrupted(lambda: session.run(feed)) < 1
        # The session is as it was.
        assert interrupted(lambda: session.benchmark(iterations=3)) < 1


def test_a_job_stops_and_writes_nothing(model, tmp_path):
    output = tmp_path / "out.tflite"
    assert interrupted(lambda: compile(model, target="tflite", output=output, self_check_work=10**9)) < 1
    assert not output.exists()


def test_a_handler_of_the_program_is_respected(model):
    class Enough(Exception):
        pass

    def handler(*_):
        raise Enough

    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with InferenceSession(model) as session, pytest.raises(Enough):
            session.run({"x": np.ones(2, np.float32)})
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_timeout_is_a_coded_error(model, tmp_path):
    with pytest.raises(EdgeCompilerError) as caught:
        compile(model, target="tflite", output=tmp_path / "o.tflite", timeout=0.3, self_check_work=10**9)
    assert caught.value.code == "EC5002"


def test_other_threads_run_on(model):
    """A run on another thread does not hold the interpreter, and is no business of Ctrl-C."""
    script = textwrap.dedent(f"""
        import threading, numpy as np
        from edgecompiler.runtime import InferenceSession
        session = InferenceSession({str(model)!r})
        thread = threading.Thread(target=lambda: session.run({{"x": np.ones(2, np.float32)}}), daemon=True)
        thread.start()
        print("running", flush=True)
        try:
            thread.join()
        except KeyboardInterrupt:
            print("stopped", flush=True)
            import os; os._exit(0)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "running\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    assert out == "stopped\n"


def test_names_that_are_no_text_are_replaced(tmp_path):
    def data(field, raw):
        return bytes([field << 3 | 2, len(raw)]) + raw

    def value(name):
        return data(1, name) + data(2, data(1, b"\x08\x01" + data(2, data(1, b"\x08\x02"))))

    def model(**parts):
        node = data(1, parts.get("x", b"x")) + data(2, parts.get("y", b"y")) + data(3, parts.get("node", b"n")) + data(4, parts.get("op", b"Abs"))
        if "attribute" in parts:
            node += data(5, data(1, b"mode") + data(4, parts["attribute"]) + b"\xa0\x01\x03")
        graph = data(1, node) + data(2, parts.get("graph", b"g")) + data(11, value(parts.get("x", b"x"))) + data(12, value(parts.get("y", b"y")))
        return b"\x08\x08" + data(7, graph) + data(8, data(1, b"") + b"\x10\x11")

    for part in ("x", "y", "node", "graph", "op", "attribute"):
        path = tmp_path / f"{part}.onnx"
        path.write_bytes(model(**{part: b"a\xff\xfe"}))
        for job in (inspect, lambda m: compile(m, target="cpu", output=tmp_path / "o.ecir"), InferenceSession):
            try:
                result = job(path)
            except EdgeCompilerError as error:
                assert error.code
                str(error).encode()
            else:
                if isinstance(result, InferenceSession):
                    name = result.inputs[0].name
                    name.encode()
                    outputs = result.run({name: np.ones(2, np.float32)})
                    "".join(outputs).encode()
