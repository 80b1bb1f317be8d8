#!/bin/bash
#: args -N 1 --gpus=1 --wrap "python train.py"
