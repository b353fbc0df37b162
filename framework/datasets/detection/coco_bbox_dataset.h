#pragma once

#include <string>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/detection/bbox_dataset.h"

namespace kusari::datasets {

struct COCOBboxDatasetOptions {
  bool use_crowded = false;     ///< boxes around crowds too
  bool return_area = false;     ///< with the component "area", (R) float32
  bool return_crowded = false;  ///< with the component "crowded", (R) bool
  bool skip_broken = false;  ///< leave out, and count, what is wrong with annotations and images, instead of an error
  DecodeOptions decode = {};
};

/// Images with boxes in COCO's format, in the order of their ids. Labels count the categories by their ids, from 0;
/// boxes that are empty are left out, images without boxes are not.
/// root: the folder in which the images have their file_name, or a tar archive, gzipped or not, in which a file ends
/// with it. json: the annotations, a file, or its path in the archive.
/// Components: image, bbox, label, and area and crowded if asked for. Throws IoError, naming the file and the record,
/// as read_coco_annotations does, and for images that are not there. chainercv.datasets.COCOBboxDataset.
class KUSARI_API COCOBboxDataset final : public BboxDataset {
 public:
  COCOBboxDataset(const std::string& root, const std::string& json, const COCOBboxDatasetOptions& options = {});
};

}  // namespace kusari::datasets
