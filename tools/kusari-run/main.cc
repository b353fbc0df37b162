// Runs ONNX files: describes, computes, measures and checks them.

#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "kusari/tools/kusari-run/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Runs ONNX files.", "kusari-run");
  app.require_subcommand(1);
  run::Options options;
  const auto with_file = [&](CLI::App* command) {
    command->add_option("file", options.file, "an ONNX file")->required();
    return command;
  };
  const auto with_inputs = [&](CLI::App* command) {
    command->add_option("--input", options.inputs, "NAME=FILE.npy, once for each input");
    command->add_option("--shape", options.shapes, "NAME=1,3,224,224: draw this input in that shape");
    command
        ->add_option("--batch", options.batch, "size of the first axis of drawn inputs, where the file leaves it open")
        ->check(CLI::PositiveNumber);
    command->add_option("--dtype", options.dtype, "compute in float32, float16, bfloat16 or float64");
    command->add_option("--device", options.device, "cpu or cuda:0");
    return command;
  };
  CLI::App* const describe =
      with_file(app.add_subcommand("describe", "Prints inputs, outputs, operators and parameters"));
  CLI::App* const compute =
      with_inputs(with_file(app.add_subcommand("run", "Computes the outputs and writes DIR/NAME.npy for each")));
  compute->add_option("--output-dir", options.output_dir, "a folder, made if needed");
  compute->add_flag("--random", options.random, "draw the inputs that are not given");
  CLI::App* const bench = with_inputs(with_file(app.add_subcommand("bench", "Measures a call; prints a line of JSON")));
  bench->add_flag("--random", options.random, "the inputs are drawn in any case");
  bench->add_option("--threads", options.threads, "threads to compute with")->check(CLI::PositiveNumber);
  bench->add_option("--seconds", options.seconds, "how long to measure")->check(CLI::PositiveNumber);
  bench->add_option("--cache", options.cache, "a folder for what is computed of parameters alone");
  bench->add_flag("--summary", options.summary, "also print what the session has recorded");
  CLI::App* const check = app.add_subcommand(
      "check", "Runs test cases: folders with model.onnx and test_data_set_0/input_0.pb, output_0.pb, ...");
  check->add_option("folders", options.folders, "test cases")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    if (describe->parsed()) return run::describe(options);
    if (compute->parsed()) return run::run(options);
    if (bench->parsed()) return run::bench(options);
    return run::check(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kusari-run: %s\n", error.what());
    return 1;
  }
}
