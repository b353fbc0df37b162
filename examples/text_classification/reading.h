#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <kusari/kusari.h>

// What a trained network needs beside its weights to read texts: train_text_classifier writes it, run_text_classifier
// reads it.
struct Reading {
  std::string model;
  int64_t layer = 1, unit = 0;
  bool by_characters = false;
  kusari::datasets::Vocabulary words, labels;

  void save(const std::string& path) const {
    kusari::serializers::NpzWriter file(path);
    file.add_text("model", model);
    file.add("sizes", kusari::array<int64_t>({layer, unit, by_characters ? 1 : 0}));
    file.add_text("words", joined(words));
    file.add_text("labels", joined(labels));
    file.commit();
  }

  static Reading load(const std::string& path) {
    const kusari::serializers::NpzReader file(path);
    const std::vector<int64_t> sizes = file.array("sizes").to_vector<int64_t>();
    Reading result{file.value("model").text, sizes.at(0), sizes.at(1), sizes.at(2) != 0, {}, {}};
    result.words = vocabulary(file.value("words").text);
    if (result.words.contains("<unk>")) result.words.set_unknown("<unk>");
    result.labels = vocabulary(file.value("labels").text);
    return result;
  }

 private:
  // Words have no spaces, but one that is a space stands for itself among characters: each ends with a line.
  static std::string joined(const kusari::datasets::Vocabulary& words) {
    std::string text;
    for (int64_t i = 0; i < words.size(); ++i) text += words.word(i) + "\n";
    return text;
  }
  static kusari::datasets::Vocabulary vocabulary(const std::string& text) {
    kusari::datasets::Vocabulary words;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      words.add(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return words;
  }
};
