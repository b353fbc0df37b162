#pragma once

#include <filesystem>
#include <string>

#include <kusari/kusari.h>

#include "kusari/examples/gpt/corpus.h"
#include "kusari/examples/gpt/model.h"

// What train_gpt leaves in its directory.
struct Trained {
  Sizes sizes;
  kusari::datasets::Vocabulary vocabulary;
  kusari::L::TransformerLM model;
};

inline Trained load_trained(const std::string& result) {
  const auto path = [&](const char* name) { return (std::filesystem::path(result) / name).string(); };
  std::string data;
  const Sizes sizes = load_sizes(path("gpt.json"), data);
  kusari::datasets::Vocabulary vocabulary = load_characters(data).vocabulary;
  kusari::L::TransformerLM model = make_model(vocabulary.size(), sizes);
  kusari::serializers::load_npz(path("gpt.model"), model);
  return {sizes, vocabulary, model};
}
