// Tells the classes of texts with a network that train_text_classifier saved.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/text_classification/nets.h"
#include "kusari/examples/text_classification/reading.h"
#include "kusari/examples/text_classification/texts.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string device = device_flag();
  std::string result = text("--result", "result", "Directory of a training result");
  std::vector<std::string> texts = value<std::vector<std::string>>(
      "texts", {}, "Texts to classify; without any they are read from the standard input, a line each");
};

template <class Encoder>
void classify(const Arguments& args, const Reading& reading) {
  const auto device = get_device(args.device);
  TextClassifier model(Encoder(reading.layer, reading.words.size(), reading.unit, 0), reading.unit,
                       reading.labels.size(), 0);
  const auto snapshot = (std::filesystem::path(args.result) / "best_model.npz").string();
  serializers::load_npz(snapshot, model, {.path = "predictor"});
  model.to(device);
  const auto test_mode = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();

  const auto print_class_of = [&](const std::string& text) {
    const auto words = pieces_of(datasets::split_words(text, ""), reading.by_characters);
    if (words.empty()) return;
    const std::vector<datasets::Example> examples = {{reading.words.encode(words)}};
    const auto batch = datasets::pack_sequences(examples, device);
    const Variable scores = model(batch[0], batch[1]);
    const std::vector<double> shares = F::softmax(scores).to_vector<double>();
    const auto best = std::max_element(shares.begin(), shares.end());
    std::printf("%s (%.1f %%): %s\n", reading.labels.word(best - shares.begin()).c_str(), 100 * *best, text.c_str());
  };
  for (const std::string& text : args.texts) print_class_of(text);
  if (!args.texts.empty()) return;
  for (std::string line; std::getline(std::cin, line);) print_class_of(line);
}

void classify_with_encoder(const Arguments& args) {
  const Reading reading = Reading::load((std::filesystem::path(args.result) / "reading.npz").string());
  with_encoder(reading.model, [&]<class Encoder>() { classify<Encoder>(args, reading); });
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Kusari example: classes of texts, by a trained network",
                                classify_with_encoder);
}
