// Writes a text with the model that train_gpt saved.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/gpt/corpus.h"
#include "kusari/examples/gpt/model.h"

using namespace kusari;

namespace {

struct Arguments {
  std::string result = "result";
  std::string start = "\n";
  int64_t length = 500;
  double temperature = 0.8;
  int64_t top_k = 40;
  double top_p = 1;
  int64_t seed = -1;
  std::string device = "cpu";
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("--result", args.result, "Directory of a training result")->capture_default_str();
  parser.add_option("-p,--start", args.start, "What the text begins with");
  parser.add_option("--length", args.length, "Characters to write")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_option("--temperature", args.temperature, "0 takes the likeliest character each time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  parser.add_option("--top-k", args.top_k, "Only so many of the likeliest; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  parser.add_option("--top-p", args.top_p, "Only the likeliest that reach this probability")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  parser.add_option("--seed", args.seed, "Seed of the random numbers; runs with the same one are the same");
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.parse(argc, argv);
  if (args.start.empty()) throw CLI::ValidationError("--start: a text must begin with something");
  return args;
}

void run(const Arguments& args) {
  const auto path = [&](const char* name) { return (std::filesystem::path(args.result) / name).string(); };
  std::string data;
  const Sizes sizes = load_sizes(path("gpt.json"), data);
  const datasets::Vocabulary vocabulary = load_characters(data).vocabulary;
  L::TransformerLM model = make_model(vocabulary.size(), sizes);
  serializers::load_npz(path("gpt.model"), model);
  model.to(get_device(args.device));

  std::vector<std::string> start;
  for (const char c : args.start) start.emplace_back(1, c);
  std::printf("%s", args.start.c_str());
  GenerateOptions options{.temperature = args.temperature, .top_k = args.top_k, .top_p = args.top_p};
  if (args.seed >= 0) options.seed = static_cast<uint64_t>(args.seed);
  print_text(model, vocabulary, vocabulary.encode(start), args.length, options);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: text of a small transformer");
  try {
    run(parse(parser, argc, argv));
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
    return 1;
  }
}
