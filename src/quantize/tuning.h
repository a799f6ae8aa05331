// The numbers of the quantiser that were chosen rather than derived: how much is tried, when a
// change is kept, and what the report calls out. Other values still give correct networks; they
// change how accurate these are and how long quantising takes. Where no origin is given, none was
// recorded.
//
// Units: a cost is a number of multiplications (cost_of() in trial/trial.h), a gain is in dB of
// SQNR at the outputs, a noise factor is the noise after a change divided by the noise before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ec::quantize::tuning {

// --- calibration/: which samples are used --------------------------------------------------------
// Samples that calibrate unless the user asks for another number.
inline constexpr size_t kDefaultSamples = 1000;
// Samples that --calibration-data random makes unless told.
inline constexpr size_t kRandomSamples = 16;
// Most samples that are kept apart to judge the result: more say little more about it.
inline constexpr size_t kMostHeldOut = 50;
// With fewer samples than this none is kept apart; the same samples calibrate and judge.
inline constexpr size_t kFewestToSplit = 10;
// Where every sample is wanted for calibration, one in this many (or more) is kept apart.
inline constexpr size_t kHeldOutStride = 10;
// Inputs that give a warning about preprocessing: narrower than the first, with a value beyond the
// second (no pixel is), or with a mean of more deviations than the third.
inline constexpr double kNarrowInput = 0.1, kLargestInput = 300, kFarMean = 4;

// --- plan/: values and ranges that are treated apart ---------------------------------------------
// Values below this stand for nothing, as masks have them: no network computes with them.
inline constexpr float kUnbounded = -1e6f;
// Share of an 8-bit step by which results may move when values are left out of a range.
inline constexpr double kUnnoticed = 1.0 / 16;
// Operands of one scale are called mixed where their ranges differ by more than this: the smaller
// one then has fewer than 16 of 256 steps.
inline constexpr double kMixedRanges = 16;
// The same for 16 bits: the smaller one then has fewer steps than 8 bits by itself.
inline constexpr double kMixedWideRanges = 128;
// From here on it is tried whether operands at the end of a network do better with scales of their
// own, and the gain for which they get them.
inline constexpr double kUnlikeRanges = 1.5, kSplitGain = 0.1;
// Share of the network's cost up to which a layer that makes a float output gets 16-bit activations
// unless the user decides: integer kernels for 16 bits take about 20 times as long as those for 8
// (measured on the runtime of the files that have both).
inline constexpr double kPreciseOutputsCost = 0.005;
// Gain for which the mean in front of such a layer gets 16 bits, too.
inline constexpr double kPreciseMeansGain = 0.1;
// The tail of a network that decodes boxes and scores (plan/precise_tail.h): the largest share of
// the network's cost that it may have as floats; the share below which a layer with weights belongs
// to it; the share up to which a layer in front of it gets 16-bit activations; and the gain for
// which it is kept.
inline constexpr double kPreciseTailCost = 0.05, kTinyLayer = 0.0005, kPreciseLayerCost = 0.01;
inline constexpr double kPreciseTailGain = 0.3;

// --- rescale/: channels made alike ---------------------------------------------------------------
// Samples that show how channels compare; the ranges themselves come from all samples.
inline constexpr size_t kRescaleSamples = 48;
// Samples that judge whether rescaling helped.
inline constexpr size_t kRescaleJudgeSamples = 8;
// Gain for which a rescaled network is kept; less is noise of the measurement.
inline constexpr double kRescaleGain = 0.2;
// Gain for which relu6 becomes a relu and a minimum with a bound per channel: the minimum is an
// operation more.
inline constexpr double kRescaleBoundsGain = 3;
// Rounds over all tensors: weights between two tensors are changed by both, and settle after some.
inline constexpr int kEqualizeRounds = 6;
// How many times below the bound of a relu6 a channel stays: calibration does not see the largest
// value there will ever be.
inline constexpr double kRelu6Headroom = 2;
// Share of its bound from which on a relu6 counts as reached.
inline constexpr double kRelu6Reached = 0.999;
// A channel counts as rescaled where the logarithm of its factor is beyond this.
inline constexpr double kRescaledFactor = 1e-3;
// Factors beyond this, or below its inverse, come from channels that do next to nothing.
inline constexpr double kLargestFactor = 1e3;
// Noise factor that the model of rounding errors has to promise.
inline constexpr double kFactorsNoise = 0.97;
// Points of the search for factors: levels on either side of the balance, in powers of two, and
// limits of the largest weight, in half powers.
inline constexpr int kFactorLevels = 4, kFactorLimits = 13;

// --- ranges/: observers and the search for ranges ------------------------------------------------
// Bins of a histogram on either side of zero. At least half of one side is in use: eight bins for
// each of 256 steps.
inline constexpr size_t kHistogramSide = 4096;
// Weight of a new sample in the moving average of `average`.
inline constexpr double kMovingAverage = 0.01;
// Percentage of values that `percentile` holds, and the first that `auto` tries.
inline constexpr double kPercentile = 99.999;
// The second percentage that `auto` tries.
inline constexpr double kNarrowPercentile = 99.99;
// Least squares: points of the grid for each end of a range, and the smallest share of the extremes
// that is tried.
inline constexpr int kRangeGrid = 48;
inline constexpr double kSmallestRange = 0.02;
// Least divergence: bins between two ranges that are tried, and the probability of what a range
// does not hold (zero would be an infinite divergence).
inline constexpr size_t kDivergenceStride = 32;
inline constexpr double kUnseenProbability = 1e-9;
// Points at which a reader's function is computed to see where it is flat.
inline constexpr int64_t kCurvePoints = 4097;
// A range that readers need is used where it is smaller than this share of what was seen.
inline constexpr double kNeededShare = 0.99;
// Candidates of a group whose widths differ by no more than this factor are not tried one by one.
inline constexpr double kSameRange = 1.05;

// --- trial/: how much is tried, and when a choice is kept ----------------------------------------
// All trial runs of the search for ranges together cost at most this: 12 seconds at 10^10
// multiplications per second.
inline constexpr double kTrialCost = 1.2e11;
// Runs of the network in that search: at least this many, however large the network, and at most
// this many, however small.
inline constexpr size_t kFewestTrialRuns = 256, kMostTrialRuns = 8192;
// --effort high multiplies the cost, and the largest number of runs, by this.
inline constexpr double kHighEffort = 16;
// Samples of a trial: enough that a choice holds for other samples, few enough that at least
// kChoicesPerSample choices can be tried with the runs there are.
inline constexpr size_t kFewestTrialSamples = 16, kMostTrialSamples = 128, kChoicesPerSample = 16;
// One sample in this many is one that gave the extremes of some activation.
inline constexpr size_t kExtremeSamples = 4;
// A trial's samples fall into at most this many subsets of at least so many samples each. A change
// has to help in all of them: what clips a rare large value looks good wherever that value does not
// come.
inline constexpr size_t kMostSubsets = 4, kSamplesPerSubset = 4;

// When a change is kept: noise factors that it has to reach over all samples, and that it may not
// exceed on any subset. Smaller gains are those of the samples tried, not of samples to come.
struct NoiseFactors {
  double total, subset;
};
inline constexpr double kAnySubset = std::numeric_limits<double>::infinity();
inline constexpr NoiseFactors kKeepChange{0.97, 1.02};        // unless one of these says otherwise
inline constexpr NoiseFactors kKeepForAll{0.97, kAnySubset};  // ranges of all tensors together
inline constexpr NoiseFactors kKeepForKind{0.97, 1.02};       // ranges behind one kind of operation
inline constexpr NoiseFactors kKeepForGroup{0.95, 1.02};      // the range of one group of tensors
inline constexpr NoiseFactors kConfirmGroups{0.97, kAnySubset};  // all groups, on the other samples
// Adapted rounding lowers the error of every layer, but what is left may fall worse for a subset.
inline constexpr NoiseFactors kKeepAdapted{0.995, 1.25};

// Other samples that have to confirm the ranges that were chosen.
inline constexpr size_t kConfirmSamples = 24;

// Cost of a run up to which each thread runs samples by itself: in smaller runs threads that share
// one sample spend more time on waiting for each other than on the sample.
inline constexpr double kSmallRun = 1e9;
// Most threads that do so; each has its own packed weights and activations.
inline constexpr int kMostRunners = 8;
// Cost of an element that is only moved or rounded.
inline constexpr double kCostOfElement = 8;
// Predictions of a softmax per sample from which on its probabilities are judged beside its scores:
// over the samples of a trial that is hundreds. The few of a classifier, most of them sure, say
// less than the noise of all scores.
inline constexpr size_t kManyPredictions = 16;
// Parts of an output (measure/output_parts.h). Neighbouring indices belong to different parts where
// their values differ by more than the first factor; more parts than the second are no parts.
// Samples that show it.
inline constexpr double kPartSpread = 5;
inline constexpr size_t kMostParts = 16, kPartSamples = 4;
// Scores below this pass no threshold that is in use: they are not judged. Values between 0 and 1
// are taken for scores where at least the second share of them is below it.
inline constexpr float kLeastScore = 0.02f;
// The threshold by which the report counts scores: the usual one of detectors.
inline constexpr float kDecisionScore = 0.25f;
inline constexpr double kSmallScores = 0.8;
// A change that makes a part noisier by more than the first factor is not kept, unless the part's
// noise is below the second share of that of the worst part.
inline constexpr double kPartLoss = 1.1, kHarmlessPart = 0.1;
// Bytes of float reference outputs that are held for trials; what is beyond is computed again.
inline constexpr size_t kReferenceBytes = size_t{64} << 20;
// Largest SQNR that is reported, in dB; what has no error at all has this.
inline constexpr double kBestSqnr = 120;

// Samples beside those kept apart that --max-drop has to hold on where answers are few.
inline constexpr size_t kBudgetSamples = 40;

// --- weights/: rounding --------------------------------------------------------------------------
// Largest cost for which rounding is adapted without being asked for: about that of the trial runs.
inline constexpr double kAdaptCost = 1e11;
// Samples that adapted rounding looks at, and positions of each layer's window over all of them.
inline constexpr size_t kAdaptSamples = 64, kAdaptPositions = 4096;
// Adapted rounding is tried where exact weights would bring the noise below this factor; elsewhere
// activations make the noise.
inline constexpr double kExactWeightsNoise = 0.99;
// Layers with more products per result keep their weights: the cost grows with the square. 512
// channels under a 3 x 3 window have this many.
inline constexpr size_t kMostAdaptDepth = 4608;
// Bytes of covariances that are held at a time.
inline constexpr size_t kCovarianceBytes = size_t{192} << 20;
// What is added to the diagonal of a covariance, and the least that is left of it, both as a share
// of the mean variance: keeps the decomposition stable.
inline constexpr double kCovarianceDamping = 1e-2, kLeastVariance = 1e-6;

// --- strategies that store weights only ----------------------------------------------------------
// Operations with fewer weights keep them: rounding what they are multiplied with costs more than
// it saves (TensorFlow's bound).
inline constexpr int64_t kFewestDynamicWeights = 1024;
// Constants with fewer elements stay 32-bit floats: the conversion in front of them takes more room
// than 16 bits save.
inline constexpr int64_t kFewestHalves = 64;
// Samples that measure the outputs, unless the user says how many.
inline constexpr size_t kWeightOnlyReportSamples = 100;

// --- quantize-dequantize pairs -------------------------------------------------------------------
// Weights and bounds count as whole steps where they are off by less than this part of one.
inline constexpr double kWholeStep = 1e-3;

// --- measure/: the report ------------------------------------------------------------------------
// Runs that measure what each layer costs by itself, shared by all layers; each gets at least one.
inline constexpr size_t kShareRuns = 96;
// Networks with more integer layers get such shares with --effort high only.
inline constexpr size_t kMostLayersWithShares = 400;
// Layers with a better SQNR need no explanation, unless their share of the error is larger than the
// second.
inline constexpr double kGoodSqnr = 30, kLargeShare = 0.2;
// A channel that is this many times wider than the median decides the scale of all.
inline constexpr double kOutlierChannel = 16;
// Share of clipped values from which on clipping is the cause.
inline constexpr double kClipRate = 0.01;
// A range is called dead where values use less than this share of its steps.
inline constexpr double kUsedSteps = 0.25;
// Fewer calibration samples than this are called too few where values are clipped.
inline constexpr double kFewSamples = 32;

}  // namespace ec::quantize::tuning
