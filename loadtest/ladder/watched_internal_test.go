package ladder

import "testing"

func TestWatchedMayLoseTwoInAHundred(t *testing.T) {
	for _, test := range []struct {
		alone, watched []float64
		ok             bool
	}{
		{[]float64{1000, 1000}, []float64{990, 990}, true},
		{[]float64{1000, 1000}, []float64{970, 970}, false},
		{[]float64{1000, 1100}, []float64{1000, 1040}, true}, // within the spread of the pairs
	} {
		var w Watched
		for i := range test.alone {
			if err := w.add(test.alone[i], test.watched[i]); err != nil {
				t.Fatal(err)
			}
		}
		if w.Ratio.OK != test.ok {
			t.Errorf("%v alone, %v watched: %+v", test.alone, test.watched, w.Ratio)
		}
	}
	if err := new(Watched).add(0, 1); err == nil {
		t.Error("a turn that sold nothing counts")
	}
}
