#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/colored_digits.h"

// The shards of a folder whose names begin with a prefix: train-0000.tar.gz, train-0001.tar.gz, ...
inline std::vector<std::string> find_shards(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> shards;
  if (!std::filesystem::is_directory(folder)) return shards;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.find(".tar") != std::string::npos) shards.push_back(entry.path().string());
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

// Decodes all images of tar shards and keeps them in memory, 3 kB each.
inline kusari::datasets::TupleDataset load_shards(const std::vector<std::string>& shards) {
  using namespace kusari;
  const datasets::TarImageDataset files(shards, {.dtype = Dtype::uint8, .decode = {.mode = datasets::ImageMode::rgb}});
  std::vector<datasets::Example> examples;
  for (const auto& batch : iterators::MultithreadIterator(files, 1000, {.repeat = false, .shuffle = false})) {
    examples.insert(examples.end(), batch.begin(), batch.end());
  }
  return datasets::TupleDataset(datasets::concat_examples(examples));
}

// The first n examples.
inline kusari::datasets::TupleDataset first_examples(const kusari::datasets::TupleDataset& examples, int64_t n) {
  kusari::datasets::Example arrays;
  for (const kusari::Array& array : examples.arrays())
    arrays.push_back(array.slice(0, 0, std::min(n, examples.size())));
  return kusari::datasets::TupleDataset(arrays);
}

// Training and test set as 8-bit images: "digits", which are drawn and only look the part; or out of `folder`, which
// has either train-*.tar and test-*.tar (images below a folder for each class) or CIFAR's binary files; or, without a
// folder, from where the library finds or downloads them.
inline kusari::datasets::TrainTest load_cifar(const std::string& dataset, const std::string& folder) {
  using namespace kusari;
  if (folder == "digits") return {colored_digits(5000), colored_digits(1000, 1)};
  const auto train = find_shards(folder, "train"), test = find_shards(folder, "test");
  if (!train.empty() && !test.empty()) return {load_shards(train), load_shards(test)};
  const datasets::CifarOptions options{.dtype = Dtype::uint8, .root = folder};
  return dataset == "cifar100" ? datasets::get_cifar100(options) : datasets::get_cifar10(options);
}
