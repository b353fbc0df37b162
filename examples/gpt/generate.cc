// Writes a text with the model that train_gpt saved.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/gpt/trained.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string result = text("--result", "result", "Directory of a training result");
  std::string start = text("-p,--start", "\n", "What the text begins with");
  int64_t length = count("--length", 500, "Characters to write");
  double temperature = real("--temperature", 0.8, "0 takes the likeliest character each time", not_negative());
  int64_t top_k = number("--top-k", 40, "Only so many of the likeliest; 0: all", not_negative());
  double top_p = real("--top-p", 1, "Only the likeliest that reach this probability", between(0.01, 1.0));
  int64_t seed = seed_flag();
  std::string device = device_flag();
};

void run(const Arguments& args) {
  auto [sizes, vocabulary, model] = load_trained(args.result);
  model.to(get_device(args.device));

  std::vector<std::string> start;
  for (const char c : args.start) start.emplace_back(1, c);
  std::printf("%s", args.start.c_str());
  GenerateOptions options{.temperature = args.temperature, .top_k = args.top_k, .top_p = args.top_p};
  if (args.start.empty()) throw ValueError("--start: a text must begin with something");
  if (args.seed >= 0) options.seed = static_cast<uint64_t>(args.seed);
  print_text(model, vocabulary, vocabulary.encode(start), args.length, options);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: text of a small transformer", run);
}
