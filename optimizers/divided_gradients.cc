#include "kusari/optimizers/divided_gradients.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/core/kernel.h"
#include "kusari/framework/kernels/sum_rows.h"
#include "kusari/optimizers/conversions.h"
#include "kusari/optimizers/hooks/fused.h"
#include "kusari/optimizers/optimizer_impl.h"

namespace kusari::detail {

namespace {

constexpr const char* kReduceScatter = "reduce-scatter of gradients";

/// y = the sum of rows[r] * weights[r], by the arithmetic of AllReduce.
void sum_weighted(const Array& rows, const std::vector<double>& weights, const Array& y) {
  const bool differ = std::any_of(weights.begin(), weights.end(), [&](double w) { return w != weights[0]; });
  launch<kernels::SumRows>(Device(), rows, differ ? array<double>(weights) : Array(), differ ? 1 : weights[0], y);
}

}  // namespace

struct DividedGradients::Bucket {
  struct Piece {
    Parameter* parameter;
    int rank;
    ParameterPart part;
  };
  std::vector<Piece> pieces;  // ordered by rank
  Dtype wire;
  int64_t number;
  Device device = {};
  std::vector<std::pair<Parameter*, GradientScale>> scales = {};  // of this rank's pieces
  Array sent = {}, rows = {};
  collectives::TicketPtr ticket = nullptr;
  std::optional<Array> sum = std::nullopt;

  int64_t size_of(int of) const {
    int64_t size = 0;
    for (const Piece& piece : pieces) size += piece.rank == of ? piece.part.size() : 0;
    return size;
  }
};

DividedGradients::DividedGradients(collectives::Group& group, const StateShards& shards,
                                   std::span<const StateShards::Member> members, Options options)
    : group_{group}, options_{std::move(options)} {
  const auto& divided = shards.buckets();
  for (auto pieces = divided.rbegin(); pieces != divided.rend(); ++pieces) {
    auto bucket = std::make_unique<Bucket>();
    for (const StateShards::Piece& piece : *pieces) {
      if (!members[piece.member].is_updated) continue;
      bucket->pieces.push_back({members[piece.member].parameter, piece.rank, piece.part});
    }
    if (bucket->pieces.empty()) continue;
    bucket->wire = options_.wire.value_or(bucket->pieces[0].parameter->dtype());
    bucket->number = group_.reserve({kReduceScatter}, 1);
    buckets_.push_back(std::move(bucket));
  }
}

DividedGradients::~DividedGradients() = default;

std::vector<std::vector<Parameter*>> DividedGradients::buckets() const {
  std::vector<std::vector<Parameter*>> result;
  for (const auto& bucket : buckets_) {
    std::vector<Parameter*>& parameters = result.emplace_back();
    for (const Bucket::Piece& piece : bucket->pieces) {
      if (std::find(parameters.begin(), parameters.end(), piece.parameter) == parameters.end())
        parameters.push_back(piece.parameter);
    }
  }
  return result;
}

void DividedGradients::start(size_t index) {
  Bucket& bucket = *buckets_[index];
  started_ = index + 1;
  bucket.device = bucket.pieces[0].parameter->device();
  int64_t size = 0;
  for (const Bucket::Piece& piece : bucket.pieces) size += piece.part.size();
  const Array buffer = empty({size}, bucket.wire, bucket.device);
  std::unordered_map<const Parameter*, Array> gradients;  // in their parameters' memory order
  const auto gradient = [&](const Parameter& parameter) {
    Array& found = gradients[&parameter];
    if (!found.is_defined()) found = conform(gradient_of(parameter), parameter.array());
    return found;
  };
  Conversions pack;
  int64_t at = 0;
  for (const Bucket::Piece& piece : bucket.pieces) {
    const Parameter& parameter = *piece.parameter;
    const bool is_there = parameter.node()->grad != nullptr;
    const Array slot = buffer.slice(0, at, piece.part.size());
    at += piece.part.size();
    if (is_there) {
      pack.add(gradient(parameter).as_strided({piece.part.size()}, {1}, piece.part.begin), slot, GradientScale());
    } else {
      slot.fill(0);
    }
    if (piece.rank != group_.rank()) continue;
    bucket.scales.emplace_back(piece.parameter,
                               is_there ? GradientScale{parameter.device_loss_scale(), parameter.loss_scale()}
                                        : options_.scale_of(bucket.device));
  }
  pack.run();
  for (const Bucket::Piece& piece : bucket.pieces) piece.parameter->cleargrad();

  const int64_t item = itemsize(bucket.wire), own = bucket.size_of(group_.rank());
  std::vector<size_t> offsets, counts;
  size_t offset = 0;
  for (int rank = 0; rank < group_.size(); ++rank) {
    offsets.push_back(offset);
    counts.push_back(static_cast<size_t>(bucket.size_of(rank) * item));
    offset += counts.back();
  }
  bucket.sent = buffer.to_device(Device());
  bucket.rows = empty({group_.size(), own}, bucket.wire);
  bucket.ticket = group_.start_alltoall({kReduceScatter}, bucket.sent.raw_data(), offsets, counts,
                                        bucket.rows.raw_data(), static_cast<size_t>(own * item), bucket.number);
  bucket.ticket->held = std::make_shared<const std::pair<Array, Array>>(bucket.sent, bucket.rows);
}

void DividedGradients::look() {
  for (size_t i = 0; i < started_; ++i) {
    if (buckets_[i]->ticket != nullptr && buckets_[i]->ticket->test()) take_sum(*buckets_[i]);
  }
}

// What was sent and what has come may go.
void DividedGradients::take_sum(Bucket& bucket) {
  bucket.ticket = nullptr;
  bucket.sent = Array();
  bucket.sum = empty({bucket.rows.shape(1)}, bucket.wire);
  if (bucket.sum->size() > 0) sum_weighted(bucket.rows, options_.weights, *bucket.sum);
  bucket.rows = Array();
}

double DividedGradients::finish() {
  double waited = 0;
  for (size_t i = 0; i < started_; ++i) {
    Bucket& bucket = *buckets_[i];
    for (const Bucket::Piece& piece : bucket.pieces) {
      if (piece.parameter->node()->grad == nullptr) continue;
      throw StateError("Optimizer::update: the gradient of '" + piece.parameter->name() +
                       "' has changed after it was sent to the other processes: leave out Sharding::kGradients for "
                       "such models");
    }
    if (bucket.ticket != nullptr) {
      waited += group_.wait(*bucket.ticket, {kReduceScatter}, bucket.number);
      take_sum(bucket);
    }
    const Array sum = std::exchange(bucket.sum, std::nullopt)->to_device(bucket.device);
    Conversions unpack;
    int64_t at = 0;
    size_t piece_of_own = 0;
    for (const Bucket::Piece& piece : bucket.pieces) {
      if (piece.rank != group_.rank()) continue;
      const auto& [parameter, scale] = bucket.scales[piece_of_own++];
      const Array slot = sum.slice(0, at, piece.part.size());
      at += piece.part.size();
      Array gradient = slot;
      if (bucket.wire != parameter->dtype()) {
        gradient = empty(slot.shape(), parameter->dtype(), bucket.device);
        unpack.add(slot, gradient, GradientScale());
      }
      own_[parameter] = {gradient, scale};
    }
    unpack.run();
  }
  return waited;
}

const DividedGradients::Own* DividedGradients::of(const Parameter& parameter) const noexcept {
  const auto found = own_.find(&parameter);
  return found == own_.end() ? nullptr : &found->second;
}

Array DividedGradients::square_sum(const Device& device) const {
  std::vector<std::unique_ptr<Parameter>> parts;
  std::vector<Parameter*> parameters;
  for (const auto& bucket : buckets_) {
    for (const auto& [parameter, scale] : bucket->scales) {
      const Array& gradient = own_.at(parameter).gradient;
      parameters.push_back(parts.emplace_back(std::make_unique<Parameter>(gradient)).get());
      parameters.back()->set_grad(gradient);
    }
  }
  const Array own = optimizer_hooks::gradient_square_sum(parameters);
  const double sum = own.is_defined() ? own.item<double>() : 0;
  double all = 0;
  for (const std::string& other :
       group_.allgather({"norm of gradients"}, {reinterpret_cast<const char*>(&sum), sizeof(sum)})) {
    double value;
    std::memcpy(&value, other.data(), sizeof(value));
    all += value;
  }
  return full({}, all, Dtype::float64, device);
}

void DividedGradients::unscale(const Array& loss_scale) {
  Conversions conversions;
  for (auto& [parameter, own] : own_) {
    conversions.add(own.gradient, own.gradient, {.device = loss_scale});
    own.scale = GradientScale();
  }
  conversions.run();
}

}  // namespace kusari::detail
