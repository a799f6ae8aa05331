"""The target coral as users call it: what is written, what is said, and what is refused."""

import hashlib
import os
import pathlib
import shutil
import stat
import unittest

import coral_models as models
import flat_builder
from harness import Case

# In place of Google's compiler: writes what it was given with a mark, and prints a log like the real one.
STAND_IN = r"""#!/bin/sh
[ "$1$2" = "-s-o" ] || exit 9
out="$3"; shift 3
[ "$1" = "-m" ] && shift 2
[ -z "$STAND_IN_FAILS" ] || { echo 'Internal compiler error. Aborting!'; exit 1; }
echo "Edge TPU Compiler version 16.0.384591198"
echo "Model compiled successfully in 5 ms."
for model in "$@"; do
  name=$(basename "$model" .tflite)
  { printf 'EDGETPU'; cat "$model"; } > "$out/${name}_edgetpu.tflite"
  echo "Input model: $model"
  echo "Output model: $out/${name}_edgetpu.tflite"
  echo "On-chip memory used for caching model parameters: 1.50KiB"
  echo "On-chip memory remaining for caching model parameters: 7.00MiB"
  echo "Off-chip memory used for streaming uncached model parameters: 0.00B"
  echo "Number of Edge TPU subgraphs: 1"
  echo "Total number of operations: 4"
  echo "Operator                       Count      Status"
  echo ""
  echo "CONV_2D                        3          Mapped to Edge TPU"
  echo "CONV_2D                        1          Operation not supported"
done
"""


def edgetpu_file(case: Case) -> str:
    """A file that is Edge TPU code as far as its operator tells."""
    case.write("c.ecir", models.graph("%x: u8[1,4] q(0.5:0)", "y = %y",
                                      '%y = custom(%x) {code="edgetpu-custom-op"} : u8[1,4] q(0.5:0)'))
    case.good("c.ecir", "-t", "tflite", "-o", "code.tflite")
    return "code.tflite"


class CoralCase(Case):
    def setUp(self):
        super().setUp()
        self.write("m.ecir", models.chain())

    def placement(self, *arguments):
        return self.good(*arguments, "--json").result["placement"]

    def stand_in(self):
        folder = self.dir / "bin"
        folder.mkdir()
        program = folder / "edgetpu_compiler"
        program.write_text(STAND_IN)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}


class Placement(CoralCase):
    def test_everything_on_the_device(self):
        placement = self.placement("m.ecir", "-t", "coral", "-o", "m.tflite", "--strict")
        self.assertEqual((placement["native"], placement["host"]), (4, 0))
        self.assertIn("4 of 4 operations on the device", self.good("check", "m.tflite", "-t", "coral").out)

    def test_nothing_on_the_device(self):
        self.write("f.ecir", "graph @g(%x: f32[4]) -> (y = %y) {\n  %y = sin(%x)\n}\n")
        self.good("f.ecir", "-t", "tflite", "-o", "f.tflite")
        self.assertIn("on the CPU alone", self.good("check", "f.tflite", "-t", "coral").out)

    def test_options_belong_to_targets(self):
        for option in (["--edgetpu-runtime", "13"], ["--edgetpu-rules", "fitted"], ["--edgetpu-compiler"],
                       ["--segments", "2"]):
            self.assertIn("coral", self.bad(2, "EC8001", "m.ecir", "-t", "tflite", *option).err)
        self.bad(2, "EC8001", "m.ecir", "-t", "cpu", "--keep-io-layout")
        self.bad(2, "EC8001", "m.ecir", "-t", "coral", "--edgetpu-rules", "guessed")
        self.bad(2, "EC8001", "m.ecir", "-t", "coral", "--edgetpu-runtime", "15")

    def test_names_of_edge_tpu_code_are_kept_for_it(self):
        self.bad(2, "EC8001", "m.ecir", "-t", "coral", "-o", "m_edgetpu.tflite")
        self.assertEqual(self.files(), ["m.ecir"])


class Rewrites(CoralCase):
    def hosts(self, name, model, *options):
        """Operations left on the CPU without and with the rewrites, and what was rewritten."""
        self.write(f"{name}.ecir", model)
        results = []
        for extra in (["--disable-pass", "legalise-coral"], []):
            results.append(self.placement(f"{name}.ecir", "-t", "coral", "-o", f"{name}.tflite", *options, *extra))
        return results[0]["host"], results[1]["host"], results[1].get("rewrites", [])

    def test_integers_map_in_another_form(self):
        for name, model in models.INTEGER_REWRITES.items():
            with self.subTest(name):
                before, after, rewrites = self.hosts(name, model)
                self.assertEqual(after, 0, rewrites)
                if name != "pool_and_relu":  # written apart, not rewritten
                    self.assertGreater(before, 0)
                    self.assertTrue(rewrites)

    def test_floats_map_in_another_form(self):
        for name, model in models.FLOAT_REWRITES.items():
            with self.subTest(name):
                before, after, rewrites = self.hosts(name, model, "--quantize", "ptq", "--calibration-data", "random")
                self.assertEqual(after, 0, rewrites)
                self.assertGreater(before, 0)
                self.assertTrue(rewrites)

    def test_integers_stay_equal(self):
        for name, model in models.INTEGER_REWRITES.items():
            with self.subTest(name):
                self.write(f"{name}.ecir", model)
                results = []
                for folder, extra in (("plain", ["--disable-pass", "legalise-coral"]), ("rewritten", [])):
                    self.good(f"{name}.ecir", "-t", "coral", "-o", f"{name}.tflite", *extra)
                    self.good("run", f"{name}.tflite", "--seed", "5", "-o", folder)
                    results.append({p.name: p.read_bytes() for p in (self.dir / folder).iterdir()})
                    shutil.rmtree(self.dir / folder)
                self.assertEqual(*results)

    def test_uint8_interface_over_an_int8_body(self):
        self.write("f.ecir", models.FLOAT_REWRITES["hard_swish"])
        result = self.good("f.ecir", "-t", "coral", "--quantize", "ptq", "--calibration-data", "random", "--io-type", "uint8",
                           "--strict", "--json").result
        self.assertEqual([result["inputs"][0]["dtype"], result["outputs"][0]["dtype"]], ["u8", "u8"])
        self.assertEqual(result["placement"]["host"], 0)

    def test_are_told(self):
        self.write("l.ecir", models.INTEGER_REWRITES["leaky_relu"])
        self.assertIn("rewritten: ", self.good("l.ecir", "-t", "coral").out)


class GoogleCompiler(CoralCase):
    def test_makes_the_code_and_is_compared(self):
        environment = self.stand_in()
        outcome = self.good("m.ecir", "-t", "coral", "--edgetpu-compiler", "--json", env=environment)
        self.assertIn("m_edgetpu.tflite", self.files())
        self.assertNotIn("m_coral.tflite", self.files())
        self.assertTrue((self.dir / "m_edgetpu.tflite").read_bytes().startswith(b"EDGETPU"))
        report = outcome.result["placement"]["compiler"]
        self.assertEqual(report["version"], "16.0.384591198")
        self.assertEqual(report["on_chip_bytes"], 1536)
        self.assertIn({"op": "CONV_2D", "status": "Mapped to Edge TPU", "predicted": 4, "compiled": 3}, report["differences"])
        text = self.good("m.ecir", "-t", "coral", "--edgetpu-compiler", "--edgetpu-runtime", "13", env=environment).out
        self.assertIn("the prediction differs", text)

    def test_several_at_once_and_checks(self):
        environment = self.stand_in()
        shutil.copy(self.dir / "m.ecir", self.dir / "n.ecir")
        self.good("m.ecir", "n.ecir", "-t", "coral", "--edgetpu-compiler", env=environment)
        self.assertTrue({"m_edgetpu.tflite", "n_edgetpu.tflite"} <= set(self.files()))
        before = self.files()
        report = self.good("check", "m.ecir", "-t", "coral", "--edgetpu-compiler", "--json", env=environment).result
        self.assertEqual(report["compiler"]["num_operations"], 4)
        self.assertEqual(self.files(), before)

    def test_fails_or_is_missing(self):
        environment = self.stand_in()
        before = self.files()
        failing = {**environment, "STAND_IN_FAILS": "1"}
        self.assertIn("Internal compiler error",
                      self.bad(1, "EC6010", "m.ecir", "-t", "coral", "--edgetpu-compiler", env=failing).err)
        nowhere = {"PATH": str(self.dir / "none")}
        self.assertIn("not installed", self.bad(1, "EC6010", "m.ecir", "-t", "coral", "--edgetpu-compiler", env=nowhere).err)
        self.assertEqual(self.files(), before)


class Segments(CoralCase):
    def run_chain(self, files, folder):
        """Runs the files one after the other, each on what the one before gave."""
        given = []
        for i, file in enumerate(files):
            target = f"{folder}{i}"
            self.good("run", file, "--seed", "3", "-o", target, *given)
            given = []
            for array in sorted((self.dir / target).iterdir()):
                given += ["-i", f"{array.stem}={array}"]
        return {p.name: p.read_bytes() for p in (self.dir / target).iterdir()}

    def test_pieces_compute_what_the_whole_does(self):
        self.write("m.ecir", models.chain(6))
        result = self.good("m.ecir", "-t", "coral", "--segments", "3", "-o", "m.tflite", "--json").result
        names = [f"m_segment_{i}_of_3.tflite" for i in range(3)]
        self.assertEqual([pathlib.Path(s["output"]).name for s in result["segments"]], names)
        self.assertEqual(self.files(), ["m.ecir", *names])
        self.assertTrue(result["self_check"]["ran"])
        for segment in result["segments"]:
            content = (self.dir / pathlib.Path(segment["output"]).name).read_bytes()
            self.assertEqual(segment["output_sha256"], hashlib.sha256(content).hexdigest())
            self.assertEqual(segment["placement"]["host"], 0)
            self.assertGreater(segment["placement"]["native"], 0)
        self.good("m.ecir", "-t", "coral", "-o", "whole.tflite")
        self.assertEqual(self.run_chain(names, "piece"), self.run_chain(["whole.tflite"], "whole"))

    def test_default_names(self):
        self.good("m.ecir", "-t", "coral", "--segments", "2")
        self.assertEqual(self.files(), ["m.ecir", "m_segment_0_of_2.tflite", "m_segment_1_of_2.tflite"])

    def test_too_many(self):
        self.bad(3, "EC3004", "m.ecir", "-t", "coral", "--segments", "9")
        self.assertEqual(self.run_program("m.ecir", "-t", "coral", "--segments", "1").code, 2)
        self.assertEqual(self.files(), ["m.ecir"])

    def test_all_or_none(self):
        (self.dir / "m_segment_1_of_2.tflite").mkdir()
        before = self.files()
        self.bad(1, "EC1017", "m.ecir", "-t", "coral", "--segments", "2")
        self.assertEqual(self.files(), before)

    def test_compiled_by_google(self):
        environment = self.stand_in()
        self.good("m.ecir", "-t", "coral", "--segments", "2", "--edgetpu-compiler", env=environment)
        self.assertTrue({f"m_segment_{i}_of_2_edgetpu.tflite" for i in range(2)} <= set(self.files()))


class Together(CoralCase):
    def big(self, rows):
        lines = [f"%w = const i8[{rows},4096] q(0.01:0) splat(1)",
                 f"%y = matmul(%x, %w) {{transpose_b=true}} : i8[1,{rows}] q(0.5:0)"]
        return models.graph("%x: i8[1,4096] q(0.5:0)", "y = %y", *lines)

    def test_models_share_the_memory_in_order(self):
        self.write("a.ecir", self.big(1024))
        self.write("b.ecir", self.big(1024))
        result = self.good("a.ecir", "b.ecir", "-t", "coral", "-o", ".", "--json").result
        first, second = (m["placement"]["estimate"] for m in result["models"])
        self.assertEqual(first["streamed_bytes"], 0)
        self.assertGreater(second["streamed_bytes"], 0)
        self.assertEqual(first["parameter_bytes"], second["parameter_bytes"])
        self.assertLessEqual(first["on_chip_bytes"] + second["on_chip_bytes"], 6900 * 1024)
        self.assertTrue({"a_coral.tflite", "b_coral.tflite"} <= set(self.files()))
        self.assertIn("2 models share", self.good("a.ecir", "b.ecir", "-t", "coral", "-o", ".").out)

    def test_misuse(self):
        shutil.copy(self.dir / "m.ecir", self.dir / "n.ecir")
        before = self.files()
        self.bad(2, "EC8001", "m.ecir", "n.ecir", "-t", "tflite")
        self.bad(2, "EC8001", "m.ecir", "n.ecir", "-t", "coral", "-o", "one.tflite")
        self.bad(2, "EC8001", "m.ecir", "n.ecir", "-t", "coral", "--segments", "2")
        self.write("bad.ecir", models.graph("%x: f32[4]", "y = %y", "%y = sin(%x)"))
        self.bad(3, "EC3004", "m.ecir", "bad.ecir", "-t", "coral")
        self.assertEqual(self.files(), sorted([*before, "bad.ecir"]))


class Determinism(CoralCase):
    def test_same_bytes_everywhere(self):
        self.write("f.ecir", models.FLOAT_REWRITES["hard_swish"])
        other = self.dir / "other"
        other.mkdir()
        digests = {"m": set(), "f": set()}
        for folder in (self.dir, other):
            for threads, locale in (("1", "C"), ("2", "de_DE.UTF-8")):
                for name, options in (("m", []), ("f", ["--quantize", "ptq", "--calibration-data", "random"])):
                    model = folder / f"{name}.ecir"
                    if not model.exists():
                        shutil.copy(self.dir / f"{name}.ecir", model)
                    target = folder / "out.tflite"
                    self.good(model, "-t", "coral", "-o", target, "--threads", threads, *options, env={"LC_ALL": locale})
                    digests[name].add(hashlib.sha256(target.read_bytes()).hexdigest())
        self.assertEqual({name: len(found) for name, found in digests.items()}, {"m": 1, "f": 1})


class Device(CoralCase):
    """Edge TPU code on stand-ins for the driver and the TFLite library: a run adds one to each of four bytes."""

    def setUp(self):
        super().setUp()
        stand_ins = pathlib.Path(os.environ.get("EC_STAND_INS", "/nonexistent"))
        if not (stand_ins / "libstand_in_driver.so").exists():
            self.skipTest("the stand-in libraries are not built")
        folder = self.dir / "lib"
        folder.mkdir()
        shutil.copy(stand_ins / "libstand_in_driver.so", folder / "libedgetpu.so.1")
        shutil.copy(stand_ins / "libstand_in_tflite.so", folder / "libtensorflowlite_c.so")
        self.libraries = {"LD_LIBRARY_PATH": str(folder)}
        self.code = edgetpu_file(self)
        self.write_npy("in.npy", (1, 4), [1, 2, 3, 254], "|u1")

    def test_runs(self):
        for target in ("coral", "auto"):
            result = self.good("run", self.code, "-t", target, "-i", "x=in.npy", "-o", "out", "--json", env=self.libraries).result
            self.assertIn("Edge TPU at", result["device"])
            self.assertEqual((self.dir / "out" / "y.npy").read_bytes()[-4:], bytes([2, 3, 4, 255]))
        self.assertIn("Edge TPU at", self.good("bench", self.code, "-t", "coral", "--iterations", "2", env=self.libraries).out)

    def test_other_models_run_on_the_cpu(self):
        self.assertIn(" on CPU", self.good("run", "m.ecir", "-t", "coral", env=self.libraries).out)

    def test_failures(self):
        for how, words in (("none", "no Edge TPU"), ("broken", "did not open"), ("refuse", "does not take"),
                           ("allocate", "allocate")):
            with self.subTest(how):
                environment = {**self.libraries, "EC_STAND_IN": how}
                self.assertIn(words, self.bad(1, "EC7010", "run", self.code, "-t", "coral", env=environment).err)
        environment = {**self.libraries, "EC_STAND_IN": "invoke"}
        self.assertNotEqual(self.run_program("run", self.code, "-t", "coral", env=environment).code, 0)
        (self.dir / "lib" / "libtensorflowlite_c.so").unlink()
        self.assertIn("libtensorflowlite_c", self.bad(1, "EC7010", "run", self.code, "-t", "coral", env=self.libraries).err)

    def test_doctor_tells_what_was_found(self):
        facts = self.good("doctor", "--json", env=self.libraries).result["devices"]
        self.assertIn("stand-in 1, devices: 1", facts["edgetpu_driver"])
        self.assertIn("libtensorflowlite_c.so", facts["tflite_library"])


class BadInput(CoralCase):
    def refused(self, exit_code, code, *arguments):
        before = self.files()
        outcome = self.bad(exit_code, code, *arguments)
        self.assertEqual(self.files(), before)
        return outcome.err

    def test_float_model_without_quantisation(self):
        self.write("f.ecir", models.FLOAT_REWRITES["abs"])
        self.assertIn("--quantize", self.refused(3, "EC3004", "f.ecir", "-t", "coral"))

    def test_open_sizes(self):
        self.write("d.ecir", models.chain().replace("1,8,8,4", "rows,8,8,4"))
        for verb in ("compile", "check"):
            self.assertIn("--dim rows=?", self.refused(1, "EC2003", verb, "d.ecir", "-t", "coral"))
        self.good("d.ecir", "-t", "coral", "--dim", "rows=1")

    def test_open_batch_is_one_with_a_remark(self):
        self.write("d.ecir", models.chain().replace("1,8,8,4", "N,8,8,4"))
        self.write("one.ecir", models.chain())
        remark = self.good("d.ecir", "-t", "coral", "-o", "d.tflite").err
        self.assertIn("remark EC2003", remark)
        self.assertIn("--dim N=", remark)
        self.good("one.ecir", "-t", "coral", "-o", "one.tflite")
        self.assertEqual(self.run_program("inspect", "d.tflite").out.count("[1,8,8,4]"),
                         self.run_program("inspect", "one.tflite").out.count("[1,8,8,4]"))

    def test_unknown_custom_operator(self):
        self.write("c.ecir", models.between('%m = custom(%c0) {code="MyOp"} : i8[1,8,8,4] q(0.5:0)'))
        self.assertIn("the Edge TPU has no MyOp", self.refused(3, "EC3004", "c.ecir", "-t", "coral", "--strict"))

    def test_unsupported_type(self):
        self.write("t.ecir", models.graph("%x: i16[4] q(0.1:0)", "y = %y", "%y = add(%x, %x) : i16[4] q(0.2:0)"))
        self.assertIn("int16", self.refused(3, "EC3004", "t.ecir", "-t", "coral", "--strict"))

    def test_damaged_buffers(self):
        self.good("m.ecir", "-t", "coral", "-o", "m.tflite")
        content = (self.dir / "m.tflite").read_bytes()
        self.write("cut.tflite", content[: len(content) // 2])
        for verb in ("compile", "check"):
            self.refused(7, "EC1006", verb, "cut.tflite", "-t", "coral")

    def test_subgraph_that_calls_itself(self):
        self.write("r.tflite", flat_builder.recursive_tflite())
        for verb in ("compile", "check"):
            self.assertIn("calls itself", self.refused(7, "EC1013", verb, "r.tflite", "-t", "coral"))

    def test_larger_than_memory(self):
        wide = "i8[1,8000000,800000,4] q(0.5:0)"
        self.write("h.ecir", models.between(
            "%s = const i64[4] dense[1,8000000,800000,4]",
            f"%m = resize(%c0, _, _, %s) {{mode=nearest, coordinates=asymmetric, nearest=floor}} : {wide}"))
        self.refused(3, "EC3004", "h.ecir", "-t", "coral", "--strict")
        self.refused(4, "EC5001", "run", "h.ecir")

    def test_output_is_a_directory(self):
        (self.dir / "m_coral.tflite").mkdir()
        self.refused(1, "EC1017", "m.ecir", "-t", "coral")

    def test_edge_tpu_code(self):
        code = edgetpu_file(self)
        for verb in ("check", "compile"):
            self.assertIn("already", self.refused(3, "EC3004", verb, code, "-t", "coral"))

    def test_edge_tpu_code_does_not_run_without_its_libraries(self):
        code = edgetpu_file(self)
        for verb in ("run", "bench"):
            self.assertIn("libedgetpu", self.refused(1, "EC7010", verb, code, "-t", "coral"))
            self.assertIn("no CPU runs", self.refused(1, "EC7010", verb, code))


if __name__ == "__main__":
    unittest.main()
