// Writes a text with the model that train_ptb saved.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/ptb/corpus.h"
#include "kusari/examples/ptb/models.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string model = text("-m,--model", "", "model data, saved by train_ptb", required());
  std::string primetext = text("-p,--primetext", "", "base text data, used for text generation");
  int64_t seed = number("-s,--seed", 123, "random seed for text generation", not_negative());
  int64_t unit = count("-u,--unit", 650, "number of units");
  int sample = value<int>("--sample", 1, "negative value indicates NOT use random choice");
  int64_t length = count("--length", 20, "length of the generated text");
  std::string device = device_flag();
  std::string layers = text("--layers", "lstm", "What the two layers are", one_of(kLayers));
  std::string data = text("--data", "auto", "The text of the training, for its words");
};

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

void write_text(const Arguments& args) {
  const datasets::Vocabulary vocabulary = load_corpus(args.data).vocabulary;
  with_model(args.layers, vocabulary.size(), args.unit, [&](auto& model) { write_text(args, vocabulary, model); });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: text of a recurrent language model",
                                [](const Arguments& args) { write_text(args); });
}
