// Writes a text with the model that train_ptb saved.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>
#include <CLI/CLI.hpp>

#include "kusari/examples/ptb/corpus.h"
#include "kusari/examples/ptb/models.h"

using namespace kusari;

namespace {

struct Arguments {
  std::string model;
  std::string primetext;
  int64_t seed = 123;
  int64_t unit = 650;
  int sample = 1;
  int64_t length = 20;
  std::string device = "cpu";
  std::string layers = "lstm";
  std::string data = "auto";
};

Arguments parse(CLI::App& parser, int argc, char** argv) {
  Arguments args;
  parser.add_option("-m,--model", args.model, "model data, saved by train_ptb")->required();
  parser.add_option("-p,--primetext", args.primetext, "base text data, used for text generation");
  parser.add_option("-s,--seed", args.seed, "random seed for text generation")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  parser.add_option("-u,--unit", args.unit, "number of units")->check(CLI::PositiveNumber)->capture_default_str();
  parser.add_option("--sample", args.sample, "negative value indicates NOT use random choice")->capture_default_str();
  parser.add_option("--length", args.length, "length of the generated text")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  parser.add_option("-d,--device,-g,--gpu", args.device, "cpu, or cuda:N or N for a GPU")->capture_default_str();
  parser.add_option("--layers", args.layers, "What the two layers are")
      ->check(CLI::IsMember(kLayers))
      ->capture_default_str();
  parser.add_option("--data", args.data, "The text of the training, for its words")->capture_default_str();
  parser.parse(argc, argv);
  return args;
}

template <class Model>
void write_text(const Arguments& args, const datasets::Vocabulary& vocabulary, Model& model) {
  const auto device = get_device(args.device);
  serializers::load_npz(args.model, model);
  model.to(device);
  const auto write = [&](int64_t word) {
    const std::string& text = vocabulary.word(word);
    std::printf("%s", text == "<eos>" ? ".\n" : (text + " ").c_str());
  };

  // What the text begins with; without a beginning it follows the end of a sentence
  std::vector<std::string> words = datasets::split_words(args.primetext, "");
  for (const std::string& word : words) {
    if (!vocabulary.contains(word))
      throw ValueError("--primetext: Unfortunately the word \"" + word + "\" is unknown.");
    std::printf("%s ", word.c_str());
  }
  if (words.empty()) words = {"<eos>"};

  generate([&](const Variable& ids) { return F::swapaxes(model.predictor(F::transpose(ids)), 0, 1); },
           vocabulary.encode(words).to_device(device),
           {.max_new = args.length,
            .temperature = args.sample < 0 ? 0.0 : 1.0,
            .seed = static_cast<uint64_t>(args.seed),
            .on_token = [&](int64_t word) { return write(word), true; }});
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App parser("Kusari example: text of a recurrent language model");
  try {
    const Arguments args = parse(parser, argc, argv);
    const datasets::Vocabulary vocabulary = load_corpus(args.data).vocabulary;
    with_model(args.layers, vocabulary.size(), args.unit, [&](auto& model) { write_text(args, vocabulary, model); });
    return 0;
  } catch (const CLI::ParseError& error) {
    return parser.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gentxt: %s\n", error.what());
    return 1;
  }
}
