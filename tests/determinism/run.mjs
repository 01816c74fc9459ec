// Runs the wasm module of this crate and prints its report: node run.mjs MODULE
import { readFile } from "node:fs/promises";
import process from "node:process";

const bytes = [];
const host = {
  write(text, length) {
    bytes.push(Buffer.from(new Uint8Array(instance.exports.memory.buffer, text, length)));
  },
};
const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), { host });
process.exitCode = instance.exports.run();
process.stdout.write(Buffer.concat(bytes));
