#include "kusari/framework/datasets/detection/bbox_dataset.h"

#include <mutex>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/log.h"
#include "kusari/framework/datasets/detection/bbox_dataset_state.h"
#include "kusari/framework/datasets/image/file_bytes.h"

namespace kusari::datasets {
namespace {

template <class T>
Array array_of(const std::vector<T>& values) {
  return from_host(values.data(), {static_cast<int64_t>(values.size())}, dtype_of<T>);
}

Array flags_of(const std::vector<uint8_t>& values) {
  return from_host(values.data(), {static_cast<int64_t>(values.size())}, Dtype::bool_);
}

}  // namespace

void BboxDataset::State::refuse(const std::string& place, const std::string& what) {
  constexpr int64_t kReported = 100;
  const std::string message = std::string(call) + ": " + place + ": " + what;
  if (!skip_broken) throw IoError(message);
  if (++skipped <= kReported) log::warn(message + "; it is left out");
}

BboxDataset::BboxDataset(std::shared_ptr<State> state) : state_{std::move(state)} {}
BboxDataset::~BboxDataset() = default;

int64_t BboxDataset::size() const { return static_cast<int64_t>(state_->records.size()); }
const std::vector<std::string>& BboxDataset::label_names() const noexcept { return state_->label_names; }
int64_t BboxDataset::empty_boxes() const noexcept { return state_->empty_boxes; }
int64_t BboxDataset::skipped() const noexcept { return state_->skipped; }

int64_t BboxDataset::broken() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<int64_t>(state_->broken.size());
}

std::string BboxDataset::name(int64_t i) const {
  check_index("BboxDataset::name", i, size());
  return state_->files.name(state_->records[static_cast<size_t>(i)].image);
}

Keys BboxDataset::keys() const {
  Keys keys = {"image", "bbox", "label"};
  if (state_->has_difficult) keys.emplace_back("difficult");
  if (state_->has_area) keys.emplace_back("area");
  if (state_->has_crowded) keys.emplace_back("crowded");
  return keys;
}

Example BboxDataset::annotation(int64_t i) const {
  check_index("BboxDataset::annotation", i, size());
  const State::Record& record = state_->records[static_cast<size_t>(i)];
  Example example;
  example.push_back(bbox_array(record.bbox));
  example.push_back(array_of(record.label));
  if (state_->has_difficult) example.push_back(flags_of(record.difficult));
  if (state_->has_area) example.push_back(array_of(record.area));
  if (state_->has_crowded) example.push_back(flags_of(record.crowded));
  return example;
}

Example BboxDataset::get(int64_t index) const {
  check_index("BboxDataset::get", index, size());
  std::vector<uint8_t>& buffer = file_bytes();
  for (int64_t tried = 0; tried < size(); ++tried) {
    const int64_t i = (index + tried) % size();
    if (state_->skip_broken) {
      const std::lock_guard lock(state_->mutex);
      if (state_->broken.contains(i)) continue;
    }
    const State::Record& record = state_->records[static_cast<size_t>(i)];
    try {
      Example example;
      example.push_back(decode_image(state_->files.read(record.image, buffer), state_->decode, name(i)));
      for (const Array& component : annotation(i)) example.push_back(component);
      return example;
    } catch (const IoError& error) {
      if (!state_->skip_broken) throw;
      const std::lock_guard lock(state_->mutex);
      if (state_->broken.insert(i).second) {
        log::warn(std::string(error.what()) + "; the next image takes its place");
      }
    }
  }
  throw IoError(std::string(state_->call) + ": none of the " + std::to_string(size()) + " images can be read");
}

}  // namespace kusari::datasets
