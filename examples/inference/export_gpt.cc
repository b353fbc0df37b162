// Writes what examples/gpt/train_gpt has trained as an ONNX file for generate_text:
//
//   train_gpt --data generated && export_gpt --result result --out gpt.onnx
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/gpt/trained.h"
#include "kusari/examples/inference/cached_step.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string result = text("--result", "result", "Directory of a training result");
  std::string out = text("-o,--out", "gpt.onnx", "The file to write");
};

void run(const Arguments& args) {
  auto [sizes, vocabulary, model] = load_trained(args.result);
  std::vector<std::string> words;
  for (int64_t id = 0; id < vocabulary.size(); ++id) words.push_back(vocabulary.word(id));
  export_step(model, sizes.heads, words, args.out);
  std::printf("%s: %lld characters, texts of %lld\n", args.out.c_str(), static_cast<long long>(vocabulary.size()),
              static_cast<long long>(sizes.block));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: a small transformer as an ONNX file", run);
}
