#pragma once

// Images with a class for each pixel.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <kusari/kusari.h>

struct SegmentationData {
  std::shared_ptr<kusari::datasets::Dataset> train, test;
  std::vector<std::string> label_names;
};

// A file that names an image and its labels in each line, as CamVid has them. Labels are grey images whose pixels are
// classes; those that are no class do not count.
class LabelledImages final : public kusari::datasets::Dataset {
 public:
  // Paths are relative to `root`. Those of the list that begin elsewhere are looked for by their last two parts.
  LabelledImages(const std::string& root, const std::string& list, int64_t n_class) : n_class_{n_class} {
    namespace fs = std::filesystem;
    const std::string path = (fs::path(root) / list).string();
    std::ifstream in(path);
    if (!in) throw kusari::IoError("cannot read " + path);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      std::istringstream words(line);
      std::string image, label;
      if (!(words >> image)) continue;
      if (!(words >> label)) throw kusari::IoError(path + ", line " + std::to_string(number) + ": there are no labels");
      files_.emplace_back(find(root, image), find(root, label));
    }
    if (files_.empty()) throw kusari::IoError(path + " names no images");
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  kusari::datasets::Example get(int64_t i) const override {
    using namespace kusari;
    check_index("LabelledImages", i, size());
    const auto& [image_path, label_path] = files_[static_cast<size_t>(i)];
    const Array image = datasets::read_image(image_path);
    const Array classes = datasets::read_image(label_path, {.mode = datasets::ImageMode::grey});
    if (classes.shape(1) != image.shape(1) || classes.shape(2) != image.shape(2)) {
      throw IoError(label_path + " is not of the size of " + image_path);
    }
    std::vector<int32_t> label = classes.to_vector<int32_t>();
    for (int32_t& one : label) one = one < n_class_ ? one : -1;
    return {image, array<int32_t>(label, {image.shape(1), image.shape(2)})};
  }
  kusari::datasets::Keys keys() const override { return {"image", "label"}; }

 private:
  static std::string find(const std::string& root, const std::string& name) {
    namespace fs = std::filesystem;
    const fs::path given(name), direct = fs::path(root) / given.relative_path();
    if (fs::exists(direct)) return direct.string();
    return (fs::path(root) / given.parent_path().filename() / given.filename()).string();
  }

  int64_t n_class_;
  std::vector<std::pair<std::string, std::string>> files_;
};

inline SegmentationData load_segmentation_data(const std::string& data, const std::string& root) {
  using namespace kusari;
  if (data == "camvid") {
    if (root.empty()) throw ValueError("--root: name the folder of CamVid, with train.txt and test.txt");
    const std::vector<std::string> names{"Sky",        "Building", "Pole", "Road",       "Pavement", "Tree",
                                         "SignSymbol", "Fence",    "Car",  "Pedestrian", "Bicyclist"};
    const auto count = static_cast<int64_t>(names.size());
    return {std::make_shared<LabelledImages>(root, "train.txt", count),
            std::make_shared<LabelledImages>(root, "test.txt", count), names};
  }
  datasets::DrawnShapesOptions options{
      .task = datasets::ShapesTask::segmentation, .height = 48, .width = 64, .most = 3};
  auto train = std::make_shared<datasets::DrawnShapesDataset>(400, options);
  options.seed = 1;
  return {train, std::make_shared<datasets::DrawnShapesDataset>(40, options), train->label_names()};
}

// Factors of classes in a loss, so that rare ones count as much as common ones: the median of how much of the images
// with a class are of it, by how much of them is of this one (Badrinarayanan et al. 2015).
inline kusari::Array class_weights(const kusari::datasets::Dataset& data, int64_t n_class) {
  std::vector<double> of_class(static_cast<size_t>(n_class)), of_images(of_class.size());
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto label = data.get(i)[1].to_vector<int32_t>();
    std::vector<double> here(of_class.size());
    for (const int32_t one : label) {
      if (one >= 0) here[static_cast<size_t>(one)] += 1;
    }
    for (size_t c = 0; c < here.size(); ++c) {
      of_class[c] += here[c];
      if (here[c] > 0) of_images[c] += static_cast<double>(label.size());
    }
  }
  std::vector<double> share, there;
  for (size_t c = 0; c < of_class.size(); ++c) {
    share.push_back(of_images[c] > 0 ? of_class[c] / of_images[c] : 0);
    if (share[c] > 0) there.push_back(share[c]);
  }
  std::sort(there.begin(), there.end());
  const size_t half = there.size() / 2;
  const double median = there.size() % 2 == 1 ? there[half] : (there[half - 1] + there[half]) / 2;
  std::vector<float> weights;
  for (const double one : share) weights.push_back(one > 0 ? static_cast<float>(median / one) : 0.0F);
  return kusari::array<float>(weights, {n_class});
}
