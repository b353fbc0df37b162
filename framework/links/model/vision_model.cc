#include "kusari/framework/links/model/vision_model.h"

#include <algorithm>
#include <utility>

#include "kusari/framework/core/config.h"
#include "kusari/framework/core/error.h"
#include "kusari/framework/functions/activation/softmax.h"
#include "kusari/framework/functions/array/reshape.h"
#include "kusari/framework/functions/math/average.h"
#include "kusari/framework/links/link_hook.h"

namespace kusari::links {
namespace {

// Images of equal sizes as one batch, each cut into `crops` pictures by cut(image, number of the crop).
template <class Cut>
Array batch_of(const std::vector<Array>& images, int64_t crops, const Device& device, const Cut& cut) {
  const Array first = cut(images.front(), 0);
  const int64_t n = static_cast<int64_t>(images.size());
  const Array batch = empty_channels_last({n * crops, first.shape(0), first.shape(1), first.shape(2)}, first.dtype());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < crops; ++k) {
      const Array crop = cut(images[static_cast<size_t>(i)], k);
      if (crop.shape() != first.shape()) {
        throw ValueError("VisionModel: image " + std::to_string(i) + " has shape " + to_string(crop.shape()) +
                         " but image 0 has " + to_string(first.shape()) +
                         ": images that are not resized must be alike");
      }
      batch.at(i * crops + k).copy_from(crop);
    }
  }
  return batch.to_device(device);
}

size_t index_of(std::span<const std::string> names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string known;
    for (const std::string& layer : names) known += " " + layer;
    throw ValueError("VisionModel: there is no layer " + name + "; there are" + known);
  }
  return static_cast<size_t>(found - names.begin());
}

}  // namespace

std::vector<std::string> VisionModel::available_layers() const {
  std::vector<std::string> names;
  for (const Layer& layer : layer_table().layers) names.emplace_back(layer.name);
  return names;
}

std::vector<Variable> VisionModel::run(const Variable& x, const std::vector<size_t>& wanted) const {
  const std::span<const Layer> layers = layer_table().layers;
  const std::vector<std::string> names = available_layers();
  constexpr size_t kFirst = static_cast<size_t>(-1);  // takes x
  std::vector<size_t> input(layers.size()), users(layers.size());
  std::vector<bool> needed(layers.size());
  for (const size_t i : wanted) {
    needed[i] = true;
    ++users[i];
  }
  for (size_t i = layers.size(); i-- > 0;) {
    input[i] = layers[i].input != nullptr ? index_of(names, layers[i].input) : i == 0 ? kFirst : i - 1;
    if (!needed[i] || input[i] == kFirst) continue;
    needed[input[i]] = true;
    ++users[input[i]];
  }
  std::vector<Variable> outputs(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!needed[i]) continue;
    outputs[i] = layers[i].run(*this, input[i] == kFirst ? x : outputs[input[i]]);
    // Without a graph, nobody else holds what the last user is done with.
    if (input[i] != kFirst && --users[input[i]] == 0) outputs[input[i]] = Variable();
  }
  return outputs;
}

Variable VisionModel::operator()(const Variable& x) const {
  const LinkCall call(*this);
  const size_t scores = index_of(available_layers(), layer_table().scores);
  return run(x, {scores})[scores];
}

Activations VisionModel::operator()(const Variable& x, const std::vector<std::string>& layers) const {
  const LinkCall call(*this);
  const std::vector<std::string> names = available_layers();
  std::vector<size_t> wanted;
  for (const std::string& layer : layers) wanted.push_back(index_of(names, layer));
  const std::vector<Variable> outputs = run(x, wanted);
  Activations activations;
  for (const size_t i : wanted) activations.emplace(names[i], outputs[i]);
  return activations;
}

Array VisionModel::prepare(const Array& image, const std::optional<PerAxis>& size) const {
  return links::prepare(image, preparation, size);
}

Activations VisionModel::extract(const std::vector<Array>& images, const std::vector<std::string>& layers,
                                 const std::optional<PerAxis>& size) const {
  if (images.empty()) throw ValueError("VisionModel::extract: there are no images");
  const Array batch = batch_of(images, 1, device(), [&](const Array& image, int64_t) { return prepare(image, size); });
  return (*this)(batch, layers.empty() ? std::vector<std::string>{layer_table().features} : layers);
}

Variable VisionModel::predict(const std::vector<Array>& images, bool oversample) const {
  if (images.empty()) throw ValueError("VisionModel::predict: there are no images");
  const auto evaluation = using_config(&Config::train, false);
  const auto no_graph = no_backprop_mode();
  const int64_t size = preparation.size;
  const int64_t whole = (size * 8 + 3) / 7;  // 256 for crops of 224
  std::vector<Array> prepared;
  for (const Array& image : images) prepared.push_back(prepare(image, whole));
  const auto crop = [&](const Array& image, int64_t top, int64_t left) {
    return image.slice(1, top, size).slice(2, left, size);
  };
  const int64_t middle = (whole - size) / 2, end = whole - size;
  if (!oversample) {
    return functions::softmax((*this)(
        batch_of(prepared, 1, device(), [&](const Array& image, int64_t) { return crop(image, middle, middle); })));
  }
  const int64_t places[5][2] = {{0, 0}, {0, end}, {end, 0}, {end, end}, {middle, middle}};
  const Array batch = batch_of(prepared, 10, device(), [&](const Array& image, int64_t k) {
    const Array cut = crop(image, places[k % 5][0], places[k % 5][1]);
    return k < 5 ? cut : cut.slice(2, size - 1, size, -1);
  });
  const Variable y = functions::softmax((*this)(batch));
  return functions::average(functions::reshape(y, {y.shape(0) / 10, 10, y.shape(1)}), {1});
}

}  // namespace kusari::links
