#include "kusari/framework/datasets/detection/voc_bbox_dataset.h"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#ifdef KUSARI_WITH_PUGIXML
#include <pugixml.hpp>
#endif

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/detection/bbox_dataset_state.h"

namespace kusari::datasets {

const std::vector<std::string>& voc_bbox_label_names() {
  static const std::vector<std::string> names = {
      "aeroplane",   "bicycle", "bird",  "boat",      "bottle", "bus",         "car",   "cat",  "chair", "cow",
      "diningtable", "dog",     "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"};
  return names;
}

#ifdef KUSARI_WITH_PUGIXML
namespace {

const char* const kVocDataset = "VOCBboxDataset";

/// The names of a list's lines; what follows a blank, as in the lists of single classes, is not part of them.
std::vector<std::string> names_in(std::span<const uint8_t> text) {
  std::vector<std::string> names;
  std::string name;
  bool is_over = false;
  const auto end_line = [&] {
    if (!name.empty()) names.push_back(std::move(name));
    name.clear();
    is_over = false;
  };
  for (const uint8_t byte : text) {
    const char c = static_cast<char>(byte);
    if (c == '\n') {
      end_line();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      is_over = !name.empty();
    } else if (!is_over) {
      name += c;
    }
  }
  end_line();
  return names;
}

std::optional<double> number_in(const pugi::xml_node& parent, const char* tag) {
  const pugi::xml_node node = parent.child(tag);
  const std::string text = node.child_value();
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  while (*end == ' ' || *end == '\n' || *end == '\r' || *end == '\t') ++end;
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string trimmed(std::string_view text) {
  const char* const blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(blanks) - first + 1));
}

}  // namespace

namespace detail {

/// Reads a data set's annotations into its state.
template <class State>
class VocReader {
 public:
  VocReader(State& state, const VOCBboxDatasetOptions& options) : state_{state}, options_{options} {
    for (const std::string& name : options.names) {
      if (!labels_.emplace(name, static_cast<int32_t>(labels_.size())).second) {
        throw ValueError(std::string(kVocDataset) + ": options.names has '" + name + "' twice");
      }
    }
  }

  void read(const std::string& split) {
    const std::string list = "ImageSets/Main/" + split + ".txt";
    if (const std::optional<std::string> found = state_.files.ending_with(list)) {
      folder_ = found->substr(0, found->size() - list.size());
    }
    std::vector<uint8_t> buffer;
    for (const std::string& name : names_in(state_.files.read(folder_ + list, buffer))) read_image(name);
  }

 private:
  void read_image(const std::string& name) {
    const std::string path = folder_ + "Annotations/" + name + ".xml", place = state_.files.name(path);
    typename State::Record record;
    for (const char* const extension : {".jpg", ".png"}) {
      const std::string image = folder_ + "JPEGImages/" + name + extension;
      if (record.image.empty() && state_.files.contains(image)) record.image = image;
    }
    if (record.image.empty()) return state_.refuse(place, "there is no image JPEGImages/" + name + ".jpg");
    if (!state_.files.contains(path)) return state_.refuse(place, "there is no such file, but the list has its name");

    std::vector<uint8_t> buffer;
    const auto text = state_.files.read(path, buffer);
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
    if (!parsed) {
      return state_.refuse(
          place, "it is no XML: " + std::string(parsed.description()) + " at byte " + std::to_string(parsed.offset));
    }
    const pugi::xml_node root = document.child("annotation");
    if (!root) return state_.refuse(place, "it has no element annotation");
    size_t index = 0;
    for (const pugi::xml_node& object : root.children("object")) {
      read_object(object, place + ": object " + std::to_string(index++), record);
    }
    state_.records.push_back(std::move(record));
  }

  void read_object(const pugi::xml_node& object, const std::string& place, typename State::Record& record) {
    const bool is_difficult = number_in(object, "difficult").value_or(0) != 0;
    if (is_difficult && !options_.use_difficult) return;
    const std::string name = trimmed(object.child("name").child_value());
    const auto label = labels_.find(name);
    if (label == labels_.end()) {
      return state_.refuse(
          place, name.empty() ? "it has no name" : "its class is '" + name + "', which is not among the names");
    }
    const pugi::xml_node corners = object.child("bndbox");
    const std::optional<double> y_min = number_in(corners, "ymin"), x_min = number_in(corners, "xmin"),
                                y_max = number_in(corners, "ymax"), x_max = number_in(corners, "xmax");
    if (!y_min || !x_min || !y_max || !x_max) {
      return state_.refuse(place, "its bndbox has no four numbers ymin, xmin, ymax and xmax");
    }
    const Box box{static_cast<float>(*y_min - 1), static_cast<float>(*x_min - 1), static_cast<float>(*y_max - 1),
                  static_cast<float>(*x_max - 1)};
    if (!(box.height() > 0 && box.width() > 0)) {
      ++state_.empty_boxes;
      return;
    }
    record.bbox.push_back(box);
    record.label.push_back(label->second);
    record.difficult.push_back(is_difficult);
  }

  State& state_;
  const VOCBboxDatasetOptions& options_;
  std::map<std::string, int32_t> labels_;
  std::string folder_;
};

}  // namespace detail

VOCBboxDataset::VOCBboxDataset(const std::string& root, const std::string& split, const VOCBboxDatasetOptions& options)
    : BboxDataset([&] {
        auto state = std::make_shared<State>(kVocDataset, root);
        state->label_names = options.names;
        state->decode = options.decode;
        state->skip_broken = options.skip_broken;
        state->has_difficult = options.return_difficult;
        detail::VocReader<State>(*state, options).read(split);
        return state;
      }()) {}

#else

VOCBboxDataset::VOCBboxDataset(const std::string& root, const std::string&, const VOCBboxDatasetOptions&)
    : BboxDataset(nullptr) {
  throw IoError("VOCBboxDataset: " + root + " cannot be read: this build has no pugixml");
}

#endif

}  // namespace kusari::datasets
