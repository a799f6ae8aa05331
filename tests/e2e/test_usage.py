"""Options, verbs, help, lists: what needs no model."""

import json
import re
import subprocess
import time
import unittest

from harness import PROGRAM, SLOWER, Case

VERBS = ["compile", "check", "optimize", "inspect", "run", "bench", "explain", "targets", "passes", "ops", "doctor"]


class Usage(Case):
    def test_help_names_every_verb(self):
        text = self.good("--help").out
        for verb in VERBS:
            self.assertIn(f"  {verb} ", text)

    def test_help_of_each_verb_has_its_options(self):
        self.assertIn("--per-op", self.good("bench", "--help").out)
        self.assertNotIn("--per-op", self.good("inspect", "--help").out)
        self.assertEqual(self.good("help", "run").out, self.good("run", "--help").out)

    def test_help_and_pages_have_every_option(self):
        script = self.good("completion", "bash").out
        options = set(re.findall(r"--[a-z][a-z-]+", script))
        self.assertIn("--max-drop", options)
        for text in (self.good("--help").out, self.good("help", "--markdown").out):
            self.assertEqual(sorted(o for o in options if o not in text), [])

    def test_help_is_fast(self):
        times = []
        for _ in range(15):
            start = time.perf_counter()
            subprocess.run([PROGRAM, "--help"], stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - start)
        # The budget is 20 ms; the bound leaves room for a busy machine.
        self.assertLess(min(times), 0.2 * SLOWER)

    def test_version(self):
        self.assertRegex(self.good("--version").out, r"^edgecompile \d+\.\d+\.\d+\n$")
        self.assertEqual(self.good("-V").out, self.good("--version").out)

    def test_without_arguments_help_goes_to_stderr(self):
        outcome = self.run_program()
        self.assertEqual((outcome.code, outcome.out), (2, ""))
        self.assertIn("Usage:", outcome.err)

    def test_unknown_verb_names_the_nearest(self):
        self.assertIn("'inspect'", self.bad(2, "EC8001", "inspekt", "x.onnx").err)

    def test_unknown_option_names_the_nearest(self):
        self.assertIn("--threads", self.bad(2, "EC8001", "run", "x.onnx", "--thread", "2").err)
        self.assertIn("--input-shape", self.bad(2, "EC8001", "run", "x.onnx", "--input_shpe", "2").err)

    def test_option_of_another_verb(self):
        self.assertIn("bench", self.bad(2, "EC8001", "inspect", "x.onnx", "--iterations", "3").err)

    def test_missing_and_surplus_arguments(self):
        self.bad(2, "EC8001", "inspect")
        self.bad(2, "EC8001", "inspect", "a.onnx", "b.onnx")

    def test_values(self):
        for option, value in [("--threads", "many"), ("--threads", "-1"), ("--iterations", "0"), ("--dim", "batch"),
                              ("--dim", "=3"), ("--input-shape", "x:axb"), ("--input-shape", "x:1x-3"), ("--seed", "x")]:
            outcome = self.run_program("bench", "x.onnx", f"{option}={value}")
            self.assertEqual(outcome.code, 2, (option, value))
        self.assertEqual(self.run_program("inspect", "x.onnx", "--json=yes").code, 2)
        self.assertEqual(self.run_program("inspect", "x.onnx", "--dim").code, 2)

    def test_unknown_target_and_absent_target(self):
        self.assertIn("'coral'", self.bad(2, "EC6001", "x.onnx", "-t", "corall").err)
        for target in ["arm:ethos-u55-128", "aipu"]:
            self.assertIn("not in this build", self.bad(2, "EC6001", "x.onnx", "--target", target).err)

    def test_options_of_a_target_need_it(self):
        outcome = self.bad(2, "EC8001", "x.onnx", "-t", "tflite", "--segments", "2")
        self.assertIn("--segments does not apply to target 'tflite'", outcome.err)
        self.assertIn("it belongs to: coral", outcome.err)
        text = self.good("compile", "--help").out
        self.assertIn("Target coral:", text)
        self.assertIn("--keep-io-layout", text.split("Target tflite, coral:")[1])

    def test_targets_page_has_each_option(self):
        page = self.good("targets", "--markdown").out
        for target in self.good("targets", "--json").result["targets"]:
            for option in target.get("options", []):
                self.assertIn(f"--{option['name']}", page)

    def test_targets_says_what_is_available(self):
        targets = {t["name"]: t["available"] for t in self.good("targets", "--json").result["targets"]}
        self.assertTrue(targets["cpu"])
        self.assertEqual([name for name, available in targets.items() if available], ["cpu", "tflite", "coral", "metal"])

    def test_explain(self):
        self.assertIn("operator not supported", self.good("explain", "EC3001").out)
        self.assertEqual(self.good("explain", "3001").out, self.good("explain", "ec3001").out)
        self.bad(2, "EC8001", "explain", "EC9999")
        codes = self.good("explain", "--json").result["codes"]
        self.assertEqual(len({c["code"] for c in codes}), len(codes))
        self.assertTrue(all(c["explanation"] and c["title"] for c in codes))

    def test_ops(self):
        operations = self.good("ops", "--json").result["operations"]
        names = [o["name"] for o in operations]
        self.assertIn("conv", names)
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("strides", self.good("ops", "conv").out)
        self.assertIn("'conv'", self.bad(2, "EC8001", "ops", "convv").err)

    def test_passes_and_doctor(self):
        result = self.good("passes", "--json").result
        self.assertIn("fold-constants", [p["name"] for p in result["passes"]])
        self.assertIn("optimize", [p["name"] for p in result["pipelines"]])
        self.assertIn("fold-constants", self.good("passes", "--quiet").out.split())
        self.assertEqual(self.good("doctor", "--json").result["targets"], ["cpu", "tflite", "coral", "metal"])

    def test_every_list_is_valid_json(self):
        for verb in ["targets", "passes", "ops", "explain", "doctor", "help", "man"]:
            envelope = self.good(verb, "--json").json
            self.assertEqual(envelope["schema_version"], 2)
            self.assertEqual(envelope["command"], verb)
            self.assertEqual(list(envelope)[:2], ["schema_version", "version"])

    def test_completion_scripts_parse(self):
        script = self.good("completion", "bash").out
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        probe = script + "\nCOMP_WORDS=(edgecompile insp); COMP_CWORD=1; _edgecompile; echo ${COMPREPLY[@]}\n"
        probe += "COMP_WORDS=(edgecompile bench --per); COMP_CWORD=2; _edgecompile; echo ${COMPREPLY[@]}\n"
        out = subprocess.run(["bash"], input=probe, text=True, capture_output=True, check=True, cwd=self.dir).stdout
        self.assertEqual(out.split("\n")[:2], ["inspect", "--per-op"])
        self.assertIn("#compdef edgecompile", self.good("completion", "zsh").out)
        self.bad(2, "EC8001", "completion", "tcsh")

    def test_man_page_names_every_option(self):
        page = self.good("man").out
        for option in ["input\\-shape", "disable\\-pass", "per\\-op", "config"]:
            self.assertIn(option, page)

    def test_no_colour_without_a_terminal(self):
        self.assertNotIn("\033", self.run_program("inspect", "missing.onnx").err)


class Config(Case):
    def test_json_is_the_same(self):
        from onnx_builder import relu_model

        self.write("m.onnx", relu_model(["n", 4]))
        self.write("c.json", '{"dim": {"n": 3}, "bench": {"iterations": 7}}')
        self.assertEqual(self.good("run", "m.onnx", "--config", "c.json", "--json").result["outputs"][0]["shape"], [3, 4])
        self.assertEqual(self.good("bench", "m.onnx", "--config", "c.json", "--json").result["iterations"], 7)
        self.write("c.json", '{"itrations": 7}')
        outcome = self.run_program("bench", "m.onnx", "--config", "c.json")
        self.assertEqual(outcome.code, 2)
        self.assertIn("'iterations'", outcome.err)

    def test_generated_file_holds_every_option_and_what_is_given(self):
        from onnx_builder import relu_model

        self.write("m.onnx", relu_model(["n", 4]))
        text = self.good("bench", "--generate-config", "--iterations", "7", "--dim", "n=3").out
        help_text = self.good("bench", "--help").out
        for option in re.findall(r"(?m)^  (?:-\w, |    )--([a-z-]+)", help_text):
            if option not in ("config", "generate-config", "help", "version"):
                self.assertRegex(text, rf"(?m)^#?{option} = ")
        self.assertIn("\n#warmup = 10\n", text)
        self.write("c.toml", text)
        result = self.good("bench", "m.onnx", "--config", "c.toml", "--json").result
        self.assertEqual(result["iterations"], 7)

    def test_options_tell_their_origin(self):
        from onnx_builder import relu_model

        self.write("m.onnx", relu_model([1, 4]))
        self.write("c.toml", 'disable-pass = ["fuse-activations"]\n')
        text = self.good("optimize", "m.onnx", "--config", "c.toml", "--passes", "optimize", "-vv").out
        self.assertRegex(text, r"disable-pass +fuse-activations +file")
        self.assertRegex(text, r"passes +optimize +caller")

    def test_report_goes_to_a_file(self):
        from onnx_builder import relu_model

        self.write("m.onnx", relu_model([1, 4]))
        result = self.good("optimize", "m.onnx", "--report", "json=r.json", "--json").result
        with open(f"{self.dir}/r.json", encoding="utf-8") as file:
            self.assertEqual(list(json.load(file)), list(result))
        self.good("check", "m.onnx", "--report=json=c.json")
        with open(f"{self.dir}/c.json", encoding="utf-8") as file:
            self.assertEqual([entry["unsupported"] for entry in json.load(file)["targets"]][0], 0)
        self.bad(2, "EC8001", "check", "m.onnx", "--report", "html")

    def test_file_gives_options_and_the_command_line_wins(self):
        from onnx_builder import relu_model

        self.write("m.onnx", relu_model(["n", 4]))
        self.write("c.toml", '[dim]\nn = 3\n[run]\nseed = 4\n[bench]\niterations = 7\n')
        result = self.good("run", "m.onnx", "--config", "c.toml", "--json").result
        self.assertEqual(result["outputs"][0]["shape"], [3, 4])
        result = self.good("run", "m.onnx", "--config", "c.toml", "--dim", "n=5", "--json").result
        self.assertEqual(result["outputs"][0]["shape"], [5, 4])
        result = self.good("bench", "m.onnx", "--config", "c.toml", "--json").result
        self.assertEqual(result["iterations"], 7)
        self.write("s.toml", 'input_shape = ["x:2x4"]\n')
        result = self.good("run", "m.onnx", "--config", "s.toml", "--json").result
        self.assertEqual(result["outputs"][0]["shape"], [2, 4])

    def test_faults(self):
        self.write("m.onnx", b"")
        for text, word in [("treads = 1", "'threads'"), ("[bench]\nitrations = 3", "'iterations'"), ("threads = [", "line"),
                           ("threads = 'x'", "threads"), ("quiet = 3", "true or false")]:
            self.write("c.toml", text)
            self.assertIn(word, self.bad_config().err)
        self.bad(7, "EC1001", "run", "m.onnx", "--config", "missing.toml")

    def bad_config(self):
        outcome = self.run_program("run", "m.onnx", "--config", "c.toml")
        self.assertEqual(outcome.code, 2, outcome.err)
        self.assertIn("c.toml: error EC8001", outcome.err)
        return outcome


if __name__ == "__main__":
    unittest.main()
