import type { components } from "./api.d.ts";

type Schemas = components["schemas"];

export type Job = Schemas["Job"];
export type Detail = Schemas["Detail"];
export type Attempt = Schemas["Attempt"];
export type Queue = Schemas["Queue"];
export type Statistics = Schemas["Statistics"];
export type Orchestrator = Schemas["Orchestrator"];
export type GPUStatus = Schemas["GPUStatus"];
export type Nodes = Schemas["Nodes"];
export type Node = Schemas["Node"];
export type NodeDetail = Schemas["NodeDetail"];
export type NodeHistory = Schemas["NodeHistory"];
export type GPU = Schemas["GPU"];
export type Samples = Schemas["Samples"];
export type Peers = Schemas["Peers"];
export type Plan = Schemas["Plan"];
export type Tasks = Schemas["Tasks"];
export type Task = Schemas["Task"];
export type Problem = Schemas["Problem"];
export type Code = Schemas["Code"];
export type Whoami = Schemas["Whoami"];
export type Explanation = Schemas["Explanation"];
export type BulkDone = Schemas["BulkDone"];
export type SubmitOptions = Schemas["SubmitOptions"];
export type Submitted = Schemas["Submitted"];
export type Range = Schemas["Range"];
