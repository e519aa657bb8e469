graph [
  directed 1
  multigraph 1
  node [
    id 0
    label "0"
    height 0.0
  ]
  node [
    id 1
    label "1"
    height 0.5
  ]
  node [
    id 2
    label "2"
    height 1.0
  ]
  node [
    id 3
    label "3"
    height 1.5
  ]
  edge [
    source 2
    target 1
    key 0
    time 0
    weight 1.0
  ]
  edge [
    source 0
    target 1
    key 1
    time 18446744073709551616
    weight 2.5
  ]
  edge [
    source 1
    target 2
    key 0
    time 2
    weight -3.0
  ]
  edge [
    source 2
    target 0
    key 0
    time 3
    weight 0.0
  ]
  edge [
    source 2
    target 2
    key 0
    time 4
    weight 4.0
  ]
  edge [
    source 3
    target 0
    key 0
    time 5
    weight 1.0
  ]
]
