// The numbers that were chosen rather than derived: how much is tried, and when a change is kept.
// Other values still give correct networks; they change how accurate the network is and how long
// quantising takes. A cost is a number of multiplications (cost_of() in trial/trial.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ec::quantize::tuning {

// --- trial runs: how much the search for ranges may try ------------------------------------------
// All trial runs of a search together cost at most this: 12 seconds at 10^10 multiplications per
// second.
inline constexpr double kTrialCost = 1.2e11;
// Runs of the network in a search: at least this many, however large the network, and at most this
// many, however small.
inline constexpr size_t kFewestTrialRuns = 256, kMostTrialRuns = 8192;
// --effort high multiplies the cost, and the largest number of runs, by this.
inline constexpr double kHighEffort = 16;
// Samples of a trial: enough that a choice holds for other samples, few enough that at least
// kChoicesPerSample choices can be tried with the runs there are.
inline constexpr size_t kFewestTrialSamples = 16, kMostTrialSamples = 128, kChoicesPerSample = 16;
// One sample in this many is one that gave the extremes of some activation.
inline constexpr size_t kExtremeSamples = 4;

// --- precise outputs -----------------------------------------------------------------------------
// Share of the network's cost up to which a layer that makes a float output gets 16-bit activations
// unless the user decides: integer kernels for 16 bits take about 20 times as long as those for 8
// (measured with LiteRT).
inline constexpr double kPreciseOutputsCost = 0.005;
// Gain in dB for which the mean in front of such a layer gets 16 bits, too.
inline constexpr double kPreciseMeansGain = 0.1;

// --- rounding of weights -------------------------------------------------------------------------
// Largest cost for which rounding is adapted without being asked for: about as long as the trial
// runs take.
inline constexpr double kAdaptCost = 1e11;
// Samples that the adapted rounding looks at.
inline constexpr size_t kAdaptSamples = 64;
// Adapted rounding is tried where exact weights would lower the noise below this factor: elsewhere
// the noise comes from activations.
inline constexpr double kExactWeightsNoise = 0.99;
// Adapted rounding is kept where it lowers the noise of all samples below the first factor and
// raises that of no subset above the second. The second is loose: adapting lowers the error of
// every layer, but what is left of it may fall worse for a subset.
inline constexpr double kAdaptedTotal = 0.995, kAdaptedSubset = 1.25;

// --- report --------------------------------------------------------------------------------------
// Runs that measure what each layer costs by itself, shared by all layers; each gets at least one.
inline constexpr size_t kShareRuns = 96;
// Networks with more integer layers get such shares with --effort high only.
inline constexpr size_t kMostLayersWithShares = 400;
// Samples that measure the outputs of networks whose weights alone are stored smaller, unless the
// user says how many.
inline constexpr size_t kWeightOnlyReportSamples = 100;

}  // namespace ec::quantize::tuning
