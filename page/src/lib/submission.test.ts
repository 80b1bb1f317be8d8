import { expect, test } from "vitest";
import { commandLine, fieldText, quoted, readBody, withField } from "./submission.ts";

test("a command line says the same as the body", () => {
  expect(commandLine({ command: "echo $HOME 'x'", gpu_count: 4, gpu_type: "h100", name: "a b", time_limit: "2h", preemptible: true, env: { A: "1 2" } }).line)
    .toBe(`berth submit -J 'a b' -e 'A=1 2' -g h100:4 -t 2h --preemptible -- sh -c 'echo $HOME '\\''x'\\'''`);
  expect(commandLine({ args: ["python", "train.py"], array_size: 10, array_limit: 2, dependencies: ["afterok:12"], nodelist: ["n1", "n2"] }).line)
    .toBe("berth submit -w n1,n2 -a 0-9%2 --dependency afterok:12 -- python train.py");
  expect(commandLine({ script: "#!/bin/sh", params: ["lr=1,2"], stdin: "eA==" })).toEqual({ line: "berth submit --param lr=1,2 SCRIPT", left: ["stdin"] });
  expect(commandLine({ command: "x", umask: "0027", hold: false, warn_signal: "USR1", retry_on: [75, 137], submit_env: { A: "1" } }))
    .toEqual({ line: "berth submit --retry-on 75,137 --hold=false --signal USR1 --umask 0027 -- sh -c x", left: ["submit_env"] });
  expect(commandLine({ command: "x", warn_signal: "USR1", warn_before: "5m" }).left).toEqual(["warn_signal", "warn_before"]);
  expect(quoted("$(rm -rf /)")).toBe("'$(rm -rf /)'");
});

test("fields and JSON are one body", () => {
  let b = withField({ command: "x", gpu_count: 1 }, "gpu_count", "8", "number");
  b = withField(b, "dependencies", "afterok:1, afterany:2", "list");
  b = withField(b, "hold", "true", "yes");
  expect(b).toEqual({ command: "x", gpu_count: 8, dependencies: ["afterok:1", "afterany:2"], hold: true });
  expect(withField(b, "gpu_count", "", "number")).not.toHaveProperty("gpu_count");
  expect(withField(b, "gpu_count", "many", "number").gpu_count).toBe("many"); // the API says what is wrong with it
  expect(fieldText(b, "dependencies")).toBe("afterok:1, afterany:2");
  expect(readBody('{"a": 1}')).toEqual({ a: 1 });
  for (const bad of ["", "[1]", "null", "{"]) expect(typeof readBody(bad)).toBe("string");
});
