#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kusari/framework/autograd/variable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/functions/per_axis.h"
#include "kusari/framework/links/link.h"
#include "kusari/framework/links/model/image_preparation.h"

namespace kusari::links {

/// Outputs of layers by name.
using Activations = std::map<std::string, Variable>;

/// An image classifier whose layers have names: what VGG16Layers, ResNet50Layers, GoogLeNet and the other models of
/// this folder share. Trained weights come by `serializers::load_npz(path, model)`.
class KUSARI_API VisionModel : public Chain {
 public:
  /// Scores of the classes, before softmax. x: (N, 3, H, W), prepared. Returns (N, classes).
  Variable operator()(const Variable& x) const;
  /// The outputs of the named layers; layers that they do not need are not computed. Throws ValueError for an unknown
  /// name. Chainer's model(x, layers=[...]).
  Activations operator()(const Variable& x, const std::vector<std::string>& layers) const;
  /// Names of the layers in the order in which they are computed.
  std::vector<std::string> available_layers() const;

  /// One image as the model wants it, see kusari::links::prepare. size: (height, width) or one number for both; nullopt
  /// keeps the image's.
  Array prepare(const Array& image, const std::optional<PerAxis>& size) const;
  Array prepare(const Array& image) const { return prepare(image, preparation.size); }
  /// The outputs of the named layers (none named: the features below the last affine maps) for images of equal sizes,
  /// or of any sizes when they are resized. Uses config.train and config.enable_backprop as they are.
  Activations extract(const std::vector<Array>& images, const std::vector<std::string>& layers,
                      const std::optional<PerAxis>& size) const;
  Activations extract(const std::vector<Array>& images, const std::vector<std::string>& layers = {}) const {
    return extract(images, layers, preparation.size);
  }
  /// Probabilities of the classes, (images, classes), with config.train off and no graph. With `oversample`, means over
  /// four corners, center and their mirror images.
  Variable predict(const std::vector<Array>& images, bool oversample = true) const;

  ImagePreparation preparation;  ///< may be changed to fit the weights

 protected:
  /// One layer: `run` gets the output of the layer `input`, by default that of the layer before.
  struct Layer {
    const char* name;
    Variable (*run)(const VisionModel& model, const Variable& h);
    const char* input = nullptr;
  };
  /// All layers, inputs first; `scores` are the classes' scores, `features` what `extract` gives by default.
  struct LayerTable {
    std::span<const Layer> layers;
    const char* scores;
    const char* features;
  };
  /// `layer<VGG16Layers>("fc8", [](auto& m, const Variable& h) { return m.fc8(h); })`
  template <class Model, class Run>
  static constexpr Layer layer(const char* name, Run, const char* input = nullptr) {
    return {name,
            [](const VisionModel& m, const Variable& h) -> Variable { return Run()(static_cast<const Model&>(m), h); },
            input};
  }
  virtual LayerTable layer_table() const = 0;

  explicit VisionModel(const ImagePreparation& image_preparation) : preparation{image_preparation} {}
  VisionModel(const VisionModel&) = default;
  VisionModel(VisionModel&&) noexcept = default;
  VisionModel& operator=(const VisionModel&) = default;
  VisionModel& operator=(VisionModel&&) noexcept = default;

 private:
  /// Outputs of layers by number; undefined where not wanted.
  std::vector<Variable> run(const Variable& x, const std::vector<size_t>& wanted) const;
};

}  // namespace kusari::links

namespace kusari {
namespace L = links;
}  // namespace kusari
