#include "kusari/framework/datasets/detection/coco_bbox_dataset.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/detection/bbox_dataset_state.h"
#include "kusari/framework/datasets/detection/coco_annotations.h"

namespace kusari::datasets {
namespace {

const char* const kCocoDataset = "COCOBboxDataset";

CocoAnnotations annotations_of(const detail::FileSource& files, const std::string& json, bool skip_broken) {
  const std::optional<std::string> inside = files.ending_with(json);
  if (!inside) return read_coco_annotations(json, skip_broken);
  std::vector<uint8_t> buffer;
  return parse_coco_annotations(files.read(*inside, buffer), files.name(*inside), skip_broken);
}

}  // namespace

COCOBboxDataset::COCOBboxDataset(const std::string& root, const std::string& json,
                                 const COCOBboxDatasetOptions& options)
    : BboxDataset([&] {
        auto state = std::make_shared<State>(kCocoDataset, root);
        state->decode = options.decode;
        state->skip_broken = options.skip_broken;
        state->has_area = options.return_area;
        state->has_crowded = options.return_crowded;
        CocoAnnotations file = annotations_of(state->files, json, options.skip_broken);
        for (const std::string& problem : file.problems) state->refuse(json, problem);

        std::map<int64_t, int32_t> labels;
        for (const CocoCategory& category : file.categories) {
          labels.emplace(category.id, static_cast<int32_t>(labels.size()));
          state->label_names.push_back(category.name);
        }
        std::sort(file.images.begin(), file.images.end(),
                  [](const CocoImage& a, const CocoImage& b) { return a.id < b.id; });
        std::map<int64_t, size_t> places;
        for (const CocoImage& image : file.images) {
          std::string path = image.file_name;
          if (const std::optional<std::string> inside = state->files.ending_with(path)) path = *inside;
          if (!state->files.contains(path)) {
            state->refuse(json, "image " + std::to_string(image.id) + " is " + state->files.name(path) +
                                    ", but there is no such file");
            continue;
          }
          places.emplace(image.id, state->records.size());
          State::Record record;
          record.image = std::move(path);
          state->records.push_back(std::move(record));
        }
        for (const CocoAnnotation& annotation : file.annotations) {
          const auto place = places.find(annotation.image);
          if (place == places.end() || (annotation.is_crowd && !options.use_crowded)) continue;
          const Box box{static_cast<float>(annotation.y), static_cast<float>(annotation.x),
                        static_cast<float>(annotation.y + annotation.height),
                        static_cast<float>(annotation.x + annotation.width)};
          if (!(box.height() > 0 && box.width() > 0)) {
            ++state->empty_boxes;
            continue;
          }
          State::Record& record = state->records[place->second];
          record.bbox.push_back(box);
          record.label.push_back(labels.at(annotation.category));
          record.area.push_back(static_cast<float>(annotation.area));
          record.crowded.push_back(annotation.is_crowd);
        }
        return state;
      }()) {}

}  // namespace kusari::datasets
