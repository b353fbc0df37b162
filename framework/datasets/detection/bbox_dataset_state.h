#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "kusari/framework/core/fork_safe.h"
#include "kusari/framework/datasets/detection/bbox_dataset.h"
#include "kusari/framework/datasets/detection/file_source.h"

namespace kusari::datasets {

/// What the readers of annotations fill.
struct BboxDataset::State {
  State(const char* call_of, const std::string& root) : call{call_of}, files{call_of, root} {}

  struct Record {
    std::string image;  // its path among the files
    std::vector<Box> bbox;
    std::vector<int32_t> label;
    std::vector<uint8_t> difficult, crowded;
    std::vector<float> area;
  };

  /// Throws IoError "call: place: what", or counts and reports it where broken records are to be skipped.
  void refuse(const std::string& place, const std::string& what);

  const char* call;
  detail::FileSource files;
  std::vector<Record> records;
  std::vector<std::string> label_names;
  DecodeOptions decode;
  bool skip_broken = false;
  bool has_difficult = false, has_area = false, has_crowded = false;
  int64_t empty_boxes = 0, skipped = 0;

  ForkSafeMutex mutex;
  std::set<int64_t> broken;
};

}  // namespace kusari::datasets
