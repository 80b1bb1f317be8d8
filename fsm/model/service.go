package model

// The priorities of services, and their classes.
const (
	MaxPriority     = 10
	DefaultPriority = 5
)

// ServiceClass returns the class of a service's priority from 1 to 10: 1 and 2 are low, 3 to
// 5 normal, 6 to 8 high, 9 and 10 critical.
func ServiceClass(priority uint8) Class {
	switch {
	case priority <= 2:
		return ClassLow
	case priority <= 5:
		return ClassNormal
	case priority <= 8:
		return ClassHigh
	}
	return ClassCritical
}

// JobClass returns the class of a job's priority from 1 to 10: up to 4 it is the class itself, above it is as
// of services.
func JobClass(priority uint8) Class {
	if priority <= uint8(ClassCritical) {
		return Class(priority)
	}
	return ServiceClass(priority)
}

// The kinds of work that services may name.
const (
	WorkloadTraining  = "training"
	WorkloadInference = "inference"
	WorkloadEmbedding = "embedding"
	WorkloadOCR       = "ocr"
	WorkloadGraph     = "graph_processing"
	WorkloadGeneric   = "generic"
)

// Workloads returns the kinds of work for which a service may request GPUs.
func Workloads() []string {
	return []string{WorkloadTraining, WorkloadInference, WorkloadEmbedding, WorkloadOCR, WorkloadGraph, WorkloadGeneric}
}
