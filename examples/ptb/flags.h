#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/precision.h"
#include "kusari/examples/ptb/models.h"

// What a training of a language model is told, but for where.
struct PtbFlags : Flags {
  int64_t batchsize = count("-b,--batchsize", 20, "Number of places of the text in each mini-batch");
  int64_t bproplen = count("-l,--bproplen", 35, "Number of words in each mini-batch (length of truncated BPTT)");
  int64_t epoch = count("-e,--epoch", 39, "Number of sweeps over the dataset to train");
  double gradclip = real("-c,--gradclip", 5, "Gradient norm threshold to clip", positive());
  std::string out = out_flag();
  bool test = flag("--test", "Use tiny datasets for quick tests");
  int64_t unit = count("-u,--unit", 650, "Number of LSTM units in each layer");
  std::string model = text("-m,--model", "model.npz", "Model file name to serialize, in the output directory");
  std::string layers = text("--layers", "lstm", "What the two layers are; tanh: an Elman network", one_of(kLayers));
  std::string data = text("--data", "auto", "ptb, wikitext2, generated, a file of words, or auto: the first there is");
  int64_t seed = seed_flag();
};

// And what a Trainer adds.
struct PtbTrainerFlags : PtbFlags {
  std::string resume = resume_flag();
  bool static_graph = flag("--static-graph", "Record a training step once, then replay it");
  PrecisionFlags precision = precision_flags(*this);
  bool fp16 = flag("--fp16", "Short for --amp autocast");

  PtbTrainerFlags() {
    if (fp16) precision.amp = "autocast";
  }
};

// Beside each loss of the log its perplexity.
inline void add_perplexity(kusari::training::extensions::LogEntry& entry) {
  entry.set("perplexity", std::exp(entry.at("main/loss")));
  if (entry.find("validation/main/loss") != nullptr) {
    entry.set("val_perplexity", std::exp(entry.at("validation/main/loss")));
  }
}
