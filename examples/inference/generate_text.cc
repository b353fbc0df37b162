// Writes a text with a language model in an ONNX file: one that export_gpt has written, or one that gives scores for
// each place of a text (with --tokenizer, the folder of its tokenizer.json).
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kusari/framework/onnx/load.h>
#include <kusari/kusari.h>
#include <nlohmann/json.hpp>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/inference/text_model.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string model = text("model", "", "An ONNX file of a language model", required());
  std::string start = text("-p,--start", "\n", "What the text begins with");
  std::string tokenizer = text("--tokenizer", "", "Folder of tokenizer.json (default: the words in the model's file)");
  int64_t length = count("--length", 200, "Tokens to write");
  double temperature = real("--temperature", 0.8, "0 takes the likeliest token each time", not_negative());
  int64_t top_k = number("--top-k", 40, "Only so many of the likeliest; 0: all", not_negative());
  double top_p = real("--top-p", 1, "Only the likeliest that reach this probability", between(0.01, 1.0));
  int64_t threads = number("--threads", 0, "Threads to compute with (0: as many as there are cores)", not_negative());
  std::string dtype = choice("--dtype", {"float32", "float16", "bfloat16"}, "float32", "Compute in");
  int64_t seed = seed_flag();
};

// Texts to ids, and what an id adds to a text.
struct Words {
  std::function<Array(const std::string& text)> encode;
  std::function<std::string(int64_t id)> word;
};

Words words_of(const Arguments& args) {
  if (!args.tokenizer.empty()) {
    const tokenizers::Tokenizer tokenizer = tokenizers::load(args.tokenizer);
    return {[tokenizer](const std::string& text) { return tokenizer.encode(text); },
            [tokenizer](int64_t id) { return tokenizer.bytes_of(id); }};
  }
  const auto metadata = onnx::load(args.model).metadata();
  const auto found = metadata.find("vocabulary");
  if (found == metadata.end()) {
    throw ValueError(args.model + " does not say what its tokens are: give --tokenizer, a folder with tokenizer.json");
  }
  const auto words = nlohmann::json::parse(found->second).get<std::vector<std::string>>();
  const datasets::Vocabulary vocabulary(words);
  return {[vocabulary](const std::string& text) {
            std::vector<std::string> characters;
            for (const char c : text) characters.emplace_back(1, c);
            return vocabulary.encode(characters);
          },
          [vocabulary](int64_t id) { return vocabulary.word(id); }};
}

void run(const Arguments& args) {
  if (args.threads > 0) set_num_threads(static_cast<int>(args.threads));
  if (args.start.empty()) throw ValueError("--start: a text must begin with something");
  const Words words = words_of(args);
  TextModel model(args.model, args.dtype == "float32" ? std::optional<Dtype>() : dtype_from_name(args.dtype));
  GenerateOptions options{
      .max_new = args.length, .temperature = args.temperature, .top_k = args.top_k, .top_p = args.top_p};
  if (args.seed >= 0) options.seed = static_cast<uint64_t>(args.seed);
  options.on_token = [&](int64_t id) {
    std::printf("%s", words.word(id).c_str());
    std::fflush(stdout);
    return true;
  };
  std::printf("%s", args.start.c_str());
  generate([&](const Variable& ids) { return model(ids); }, words.encode(args.start), options);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: text of a language model in an ONNX file", run);
}
